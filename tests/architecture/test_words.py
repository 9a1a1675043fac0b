"""Words that left the project, each with the term of docs/glossary.md that replaces it.

A word that may occur in sample text of a test is searched for in the source and in the documentation only.
"""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROSE = ("src", "docs", "examples", "README.md", "CONTRIBUTING.md", "CHANGELOG.md")
EVERYWHERE = (*PROSE, "tests", "tools", "benchmarks")
SUFFIXES = {".py", ".md", ".yaml", ".sh"}
EXCLUDED = {
    "docs/glossary.md",
    "benchmarks/log.md",
    Path(__file__).relative_to(ROOT).as_posix(),
}

NAMES = {
    r"held_out_examples|most[-_]examples": "max_eval_examples",
    r"\bheld_out\b|--held-out\b": "validation",
    r"HeldOutScores|held_out_(scores|objective)": "ValidationScores, validation_objective, …",
    r"informed_init|initial_weights|begin_with_neighbours|\binit[:=] ?neighbours|\"neighbours\"": "init: structured",
    r"heads_at_equal_words|hold_equal_word_heads|held_heads": "duplicate-token heads",
    r"\bexamples\.(preset|max_length|pack|pairing|mask_unit|dupe_factor)\b": "sampling.*",
    r"masked_fraction": "mlm_probability",
    r"short_every": "short_seq_prob",
    r"short_turns|\bin_turn\b|\bat_random\b": "short_seq_schedule: periodic or random",
    r"repeat_draws_after": "dupe_factor",
    r"replaced_together": "replacement_unit",
    r"lamb_bias_corrected|adamw_uncorrected": "optimizer: lamb or adamw, with bias_correction",
    r"train\.exclude\b": "exclude_from_weight_decay, exclude_from_layer_adaptation",
    r"train\.sharded|\bsharded: ?true|\"sharded\": True": "fsdp",
    r"train\.seed\b": "seed (a run has one)",
    r"mixed_with": "data_mixture",
    r"\bselect_by\b": "metric_for_best_model",
    r"layer_rate_decay": "layerwise_lr_decay",
    r"keep_activations_every": "activation_checkpoint_interval",
    r"\boddit(y|ies)\b": "data_checks",
    r"\bcatalogue\b": "benchmarks",
    r"\banswerability\b": "extractive_qa_no_answer",
    r"--kind\b": "--task-type",
    r"--restarts\b": "--retry-collapsed",
    r"--files\b": "--split-file",
    r"\bdata\.files\b": "data.split_files",
    r"litebert submit\b": "litebert glue-submission",
    r"litebert source\b": "litebert prepare",
    r"(finetune|sweep) classification\b": "the recipe `default`",
    r"mlm_baseline\b": "majority-token baseline",
    r"rehears(al|e)": "profile_step",
}
WORDS = {
    r"\bverbs?\b": "command",
    r"masked tokens right": "MLM accuracy",
    r"sentence orders right": "SOP accuracy",
    r"words hidden in a row|hidden in a row": "masked span length",
    r"knowing nothing": "majority-token baseline",
    r"rows answered": "predictions written",
    r"equal words": "duplicate tokens",
    r"out of patience": "early stopping",
    r"others waiting": "straggler timeout",
    r"matrix rate": "peak matmul throughput",
    r"straight down": "linear decay to",
    r"by the root": "by the square root",
    r"\bas begun\b|begun with neighbours|begin with neighbours": "structured initialization",
    r"floor 0": "core",
    r"\b(this|that|every|other|one) rooms?\b|\bthe house\b": "package",
    r"[Tt]he original's|[Tt]he original (code|script|recipe)": "google-research/albert",
    r"\bas (in )?the original\b(?! (text|string|file|order))": "google-research/albert",
}
WORDS_IN_PROSE = {
    r"\b(go|goes|going|gone|went) on\b(?! (the|a|top) )": "resume, continue",
    r"by way of": "intermediate-task training; or: from, through",
    r"\bours\b|\btheirs\b": "litebert; transformers, google-research/albert",
    r"\b(is|are|was|be) told\b|\btold (of|apart)\b|\btells it apart": "logged; reported; distinguished",
    r"\b(is|are|was|and) said\b|\bsays so\b|guessed aloud": "logged; reported",
    r"stand-ins?\b": "replacement",
    r"\bin vain\b": "without effect",
}


def text_files(places: tuple[str, ...]) -> Iterator[Path]:
    """Text files of the project below the given places."""
    for place in places:
        root = ROOT / place
        for path in [root] if root.is_file() else sorted(root.rglob("*")):
            relative = path.relative_to(ROOT).as_posix()
            if path.suffix in SUFFIXES and relative not in EXCLUDED and not relative.startswith("benchmarks/results/"):
                yield path


def offenders(table: dict[str, str], places: tuple[str, ...]) -> list[str]:
    """`file:line: what was found; write the term` for each match."""
    patterns = {re.compile(pattern): term for pattern, term in table.items()}
    return [
        f"{path.relative_to(ROOT)}:{number}: {match[0]!r}; write {term!r}"
        for path in text_files(places)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        for pattern, term in patterns.items()
        if (match := pattern.search(line))
    ]


def test_names_that_were_replaced_do_not_return():
    found = offenders(NAMES, EVERYWHERE)
    assert not found, "names with a standard term (docs/glossary.md):\n" + "\n".join(found)


def test_words_that_were_replaced_do_not_return():
    found = [*offenders(WORDS, EVERYWHERE), *offenders(WORDS_IN_PROSE, PROSE)]
    assert not found, "words with a standard term (docs/glossary.md):\n" + "\n".join(found)
