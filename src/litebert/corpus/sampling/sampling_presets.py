"""Published ways of drawing examples, by name. Each preset lists only the settings that differ from the defaults."""

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    # create_pretraining_data.py of google-research/albert with the flags of the released models; see
    # docs/reference/sampling.md.
    "google": {
        "short_seq_schedule": "random",
        "single_sentence_policy": "random_document",
        "dupe_factor": 40,
        "mask_unit": "whole_word_google",
        "max_predictions_per_seq": 20,
        "ngrams_cross_segments": True,
        "random_tokens": "all",
    },
    # BERT's first release: single tokens.
    "bert": {"mask_unit": "token", "max_ngram": 1},
    # BERT's whole-word masking.
    "bert_whole_word": {"max_ngram": 1},
    # SpanBERT, section 3.1: spans of Geo(0.2) words, at most 10, each replaced as a unit.
    "spanbert": {"max_ngram": 10, "ngram_weights": "geometric", "replacement_unit": "ngram"},
}
