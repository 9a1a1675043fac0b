"""The runs of the documentation, made short: settings are checked as the page has them, then smaller ones apply."""

import re
from collections.abc import Callable, Sequence
from pkgutil import resolve_name
from typing import Any

import pytest

from litebert.settings import with_overrides

PRETRAIN = (
    *("train.duration=2 steps", "train.warmup=0", "train.evaluate_every=null", "train.precision=fp32"),
    *("compute.compile=false", "progressive_depth=null"),
    *("batch_size=4", "microbatch_size=4", "max_eval_examples=64", "sampling.max_length=32"),
    *("model.num_hidden_layers=1", "model.num_hidden_groups=1", "model.hidden_size=16", "model.num_attention_heads=4"),
    *("model.intermediate_size=32", "model.embedding_size=16"),
)
FINETUNE = (
    *("train.duration=2 steps", "train.evaluate_every=null", "train.precision=fp32", "train.checkpoint_every=2 steps"),
    *("train.warmup=0", "max_length=32", "batch_size=8", "microbatch_size=8"),
)
REFUSED = re.compile(r"(?<=^fit_duplicate_token_heads)=(true|if_pairs)$")
"""Refused for a model of some steps, whose states hardly tell tokens apart; tests/commands/finetune has it."""
OPTIONS = {"--vocab-size": "60", "--workers": "1", "--jobs": "1"}
"""Options of commands → values for a small text and one process."""
PYTHON = {
    "vocab_size=8000": "vocab_size=60",
    "workers=4": "workers=1",
    "2000 steps": "20 steps",
    "CorpusSettings()": "CorpusSettings(validation_fraction=0.3)",
}
"""The same in Python blocks."""
RECIPES = {
    "litebert.commands.pretrain.pretrain_settings.load_pretrain_config": PRETRAIN,
    "litebert.commands.reproduce.cells.load_pretrain_config": PRETRAIN[:-1],  # rows of a page differ in the last one
    "litebert.commands.finetune.finetune_settings.load_finetune_config": FINETUNE,
    "litebert.commands.finetune_tasks.finetune_tasks_settings.load_finetune_config": FINETUNE,
    "litebert.commands.sweep.sweep_settings.load_finetune_config": FINETUNE,
    "litebert.commands.reproduce.cells.load_finetune_config": FINETUNE,
    "litebert.api.training_runs.load_finetune_config": FINETUNE,
}
"""Function that reads a recipe → settings to change."""
API = "litebert.api.training_runs.pretrain_config"
SWEEP = "litebert.commands.sweep.sweep_settings.load_sweep_config"
SWEEP_PRETRAIN = "litebert.commands.reproduce.reproduce.sweep_pretraining"


def shorten_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs and small grids until the end of the test, for commands and for calls of the library."""
    loads = {name: resolve_name(name) for name in RECIPES}  # all before one is replaced, which others import
    for name, changes in RECIPES.items():
        monkeypatch.setattr(name, _shortened(loads[name], changes))
    pretrain_config, load_sweep, sweep_pretrain = map(resolve_name, (API, SWEEP, SWEEP_PRETRAIN))
    monkeypatch.setattr(API, lambda values, **given: pretrain_config(with_overrides(values, PRETRAIN), **given))
    monkeypatch.setattr(SWEEP, lambda *words, **given: _with_small_grid(load_sweep(*words, **given)))
    monkeypatch.setattr(SWEEP_PRETRAIN, lambda run, out, **given: sweep_pretrain(_with_small_grid(run), out, **given))


def _shortened(load: Callable[..., Any], changes: Sequence[str]) -> Callable[..., Any]:
    def load_short(recipe: str, overrides: Sequence[str] = (), **given: Any) -> Any:
        load(recipe, overrides, **given)
        return load(recipe, [*overrides, *changes], **given)

    return load_short


def _with_small_grid(run: Any) -> Any:
    """Three values of the only setting of a grid, or two of each."""
    grid = {setting: values[: 3 if len(run.grid) == 1 else 2] for setting, values in run.grid.items()}
    return run.replace(grid=grid, **({"seeds": 1} if hasattr(run, "seeds") else {}))


def short_words(words: list[str]) -> list[str]:
    """The same command with a small vocabulary and one process, and with validation text from few documents.

    Two tasks and one seed, where each task is fine-tuned from several models.
    """
    if "--processes" in words:
        words = words.copy()
        # It would replace this process by torchrun; tests/cli/arguments/test_processes.py starts it.
        del words[(start := words.index("--processes")) : start + 2]
    compares = words[0] == "finetune-tasks" and {"--random-weights", "--compare"} & {*words}
    if compares:
        end = next(place for place, word in enumerate(words) if word.startswith("--"))
        words = words[:2] + words[end:]
    words = [REFUSED.sub("=false", word) for word in words]
    options = OPTIONS | ({"--seeds": "1"} if compares else {})
    words = [options.get(before, word) for before, word in zip(["", *words], words, strict=False)]
    is_build = words[:2] == ["corpus", "build"] and "--validation-fraction" not in words
    return words + ["--validation-fraction", "0.3"] * is_build


def short_python(text: str) -> str:
    for given, short in PYTHON.items():
        text = text.replace(given, short)
    return text
