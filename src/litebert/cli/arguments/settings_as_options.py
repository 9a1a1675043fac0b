"""Settings that were given like options, such as `--epochs 3`: what to write instead."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final

from litebert.cli.arguments.word_order import unknown_options
from litebert.errors import ConfigError
from litebert.settings import as_override

_FINETUNE: Final = "litebert.commands.finetune.finetune_settings:FinetuneRun"
_PRETRAIN: Final = "litebert.commands.pretrain.pretrain_settings:PretrainRun"
_SETTINGS: Final = {
    "finetune": (_FINETUNE, ""),
    "sweep": (_FINETUNE, ""),
    "finetune-tasks": (_FINETUNE, "--settings "),
    "pretrain": (_PRETRAIN, ""),
    "sweep pretrain": (_PRETRAIN, ""),
    "info": ("litebert.model.config:ModelConfig", ""),
}
"""Command → the class of its settings, as `module:class`, and the option before them."""
_DECIDED: Final = {
    "finetune": ("data",),
    "sweep": ("data",),
    "finetune-tasks": ("data", "seed", "model", "from_scratch", "baseline"),
    "sweep pretrain": ("seed",),
}
"""Command → settings that options of other names decide, so that they cannot be given."""


def validate_no_setting_is_an_option(command: str, words: Sequence[str], function: Callable[..., Any]) -> None:
    """Raise ConfigError with the settings to write if options that `function` does not have are names of settings."""
    if command not in _SETTINGS or {"-h", "--help"} & {*words}:
        return
    unknown = unknown_options(words, function)
    if not unknown:
        return
    place, option = _SETTINGS[command]
    module, _, name = place.partition(":")
    settings = getattr(import_module(module), name)
    decided = _DECIDED.get(command, ())
    settable = {each: each[2:].replace("-", "_") for each in unknown}
    settable = {each: setting for each, setting in settable.items() if setting not in decided}
    overrides = {each: as_override(settings, setting, unknown[each]) for each, setting in settable.items()}
    meant = {each: override for each, override in overrides.items() if override}
    if meant:
        names, values = ", ".join(meant), " ".join(meant.values())
        kind = "this is a setting, not an option" if len(meant) == 1 else "these are settings, not options"
        raise ConfigError(f"{names}: {kind}; write {option}{values} instead")
