"""Names in the outputs of litebert at commit 655f71c → names now, for the comparison in `golden_outputs.py`."""

RENAMED_KEYS: dict[str, str] = {
    # corpora
    "held_out": "validation",
    "held_out_fraction": "validation_fraction",
    "held_out_lines": "validation_lines",
    "held.txt": "dev.txt",
    "shortest_document": "min_document_chars",
    "longest_document": "max_document_chars",
    "fewest_sentences": "min_sentences",
    "longest_sentence": "max_sentence_chars",
    "drop_duplicates": "dedup_exact",
    "drop_near_duplicates": "dedup_minhash_threshold",
    "bad_bytes": "invalid_utf8",
    "bad_rows": "invalid_rows",
    "documents of too few sentences": "documents with too few sentences",
    # evaluation of pretrained models
    "baseline_accuracy": "majority_token_accuracy",
    "mlm_baseline_accuracy": "majority_token_accuracy",
    "mlm_baseline_count": "majority_token_count",
    "mlm_by_hidden_words": "mlm_by_span_length",
    "1 word": "1",
    "2 words": "2",
    "3 words": "3",
    "4 words or more": "4 or more",
    "mlm_by_example_tokens": "mlm_by_example_length",
    "to 32 tokens": "1 to 32",
    "to 64 tokens": "33 to 64",
    "to 128 tokens": "65 to 128",
    **{
        f"mlm_{old}_{measure}": f"mlm_{new}_{measure}"
        for old, new in {
            "1_word": "span_1",
            "2_words": "span_2",
            "3_words": "span_3",
            "4_words_or_more": "span_4_or_more",
            "to_32_tokens": "length_1_to_32",
            "to_64_tokens": "length_33_to_64",
        }.items()
        for measure in ("accuracy", "count")
    },
    **{
        f"{pair}_{measure}": f"sentence_pairs > {pair} > {measure}"
        for pair in ("sop", "nsp")
        for measure in ("accuracy", "count", "interval")
    },
    # task types, fine-tuning and sweeps
    "kind": "task_type",
    "ForAnswerability": "ForQuestionAnsweringWithNoAnswer",
    "selected_by": "metric_for_best_model",
    "stride": "doc_stride",
    "each_layer": "per_layer",
    "tags": "labels",
    "several-labels-3": "multi-label-3",
    "several-labels-4": "multi-label-4",
    "answerability-3": "questions-3",
    "answerability-4": "questions-4",
    "parts": "splits",
    "best_run": "best_trial",
    "answers 'good' to everything": "predicts 'good' for every example",
    # convert
    "bridged": "remapped",
}
"""Old name → new name of JSON keys, of the same words as values, of cells of tables, and of measures after `train/` and
`evaluation/`. `a > b` is the key b in the object a. Applied to the older recording; files with the same bytes are
identical whatever this table holds."""
PREDICTION_KEYS = {
    "rows": "predictions",
    "sentences": "predictions",
    "questions": "predictions",
    "words": "counts > words",
    "entities": "counts > entities",
    "unanswered": "counts > unanswered",
    "answers": "task",
    "classify": "classification",
    "score": "regression",
    "label": "multi_label",
    "choose": "multiple_choice",
    "answer": "extractive_qa",
    "kept": "model",
}
RENAMED_KEYS_OF: dict[str, dict[str, str]] = {
    "printed/corpus-stats.json": {
        "shortest": "min",
        "longest": "max",
        "sentences_a_document": "sentences_per_document",
        "shown": "replacements",
        "another token": "random token",
    },
    "printed/corpus-show*": {"piece": "original", "fate": "outcome", "read": "not_predicted"},
    "*tags-[34]*": {"tokens": "token_classification"},
    "*spans-[34]*": {"spans": "extractive_qa"},
    "*questions-[34]*": {"answerability": "extractive_qa_no_answer"},
    "printed/*": {"rows": "examples"},
    "*/metrics.jsonl": {"tokens": "tokens"},
    "sweep/table.csv": {"run": "trial"},
    "*/sweep.json": {"runs": "trials", "accuracy.runs": "runs"},
    **{
        f"printed/{name}.json": PREDICTION_KEYS
        for name in ("*-predictions*", "lines", "fillings*", "spans-table", "questions-table", "questions-threshold")
    },
    "printed/questions-*.json": {"answer": "extractive_qa_no_answer"},
}
"""Pattern of a new path → names that precede those of `RENAMED_KEYS` in such files. A name that stays, where it changes
elsewhere, is its own new name: `{"*/metrics.jsonl": {"tokens": "tokens"}}`. `a.b` is the key b in the object a only."""
RENAMED_FILES: dict[str, str] = {
    "adapters-each-layer": "adapters-per-layer",
    "corpus-show-original": "corpus-show-google",
    "submit-answers": "glue-submission-files",
    "said/submit.json": "printed/glue-submission.json",
    "said/": "printed/",
    "answerability": "questions",
    "answers": "predictions",
    "several-labels": "multi-label",
    "kept-head": "keep-head",
    "held_out/": "validation/",
    "model/columns.json": "model/task.json",
}
"""Part of a path → new part, for files and for values that are paths."""
SUBKEY = " > "
UNPAIRED_FILES = ("*/start.json", "spans-?/model/task.json", "questions-?/model/task.json")
"""Patterns of files that only one recording has: `result.json` holds all of `start.json`; models of question answering
store their task type now."""
ADDED_KEYS = frozenset(
    {"interval", "counts", "corpus", "task", "task_type", "position_embedding", "rope_theta", "use_bias"}
)
"""Keys that only the newer recording has."""
IGNORED_KEYS: dict[str, frozenset[str]] = {
    "*": frozenset({"fingerprint"}),
    "corpus*/shard.json": frozenset({"source"}),
}
"""Pattern of a new path → JSON keys, by their new names, that are not compared; hashes of settings, whose names
changed."""
