"""Known ways of drawing examples, by name. Before: nothing. After: `SamplingSettings`, where `preset` names one.

Each row says only in what it differs from our own way, whatever the length of the examples.
"""

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    # What create_pretraining_data.py does with the flags the released models were made with; docs/corpus.md compares.
    "original": {
        "short_seq_schedule": "at_random",
        "single_sentence_policy": "random_document",
        "dupe_factor": 40,
        "mask_unit": "whole_word_google",
        "max_predictions_per_seq": 20,
        "ngrams_cross_segments": True,
        "random_tokens": "include_special",
    },
    # BERT's first release: every token by itself.
    "tokens": {"mask_unit": "tokens", "max_ngram": 1},
    # BERT's whole-word masking.
    "whole_words": {"max_ngram": 1},
    # SpanBERT: spans of a geometric number of words, p = 0.2, cut off at 10, each replaced as one. Source: section 3.1.
    "spans": {"max_ngram": 10, "ngram_weights": "geometric", "replacement_unit": "ngram"},
}
