"""`info`: parameters, FLOPs and memory of an architecture, by formula, without torch or weights."""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from litebert.commands.result import Result
from litebert.errors import ConfigError, suggestion
from litebert.model.config import ModelConfig
from litebert.model.io.hub import fetch_config, local_model_directory
from litebert.model.io.model_spec import config_file, read_model_spec
from litebert.model.layers.lora_settings import LoRASettings
from litebert.model.model_stats import Flops, Memory, ParameterCounts, flops_per_token, memory, parameter_counts
from litebert.model.presets import PRESETS
from litebert.model.sharing_schedule import sharing_schedule
from litebert.settings import with_overrides

MIB = 1024**2
LENGTH = 512


@dataclass(frozen=True)
class Info(Result):
    """Parameters, FLOPs and memory of one architecture."""

    name: str
    source: str
    config: ModelConfig
    parameters: ParameterCounts
    flops: Flops
    memory: Memory
    length: int
    batch_size: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        totals = {
            "encoder": self.parameters.encoder,
            "encoder_and_pooler": self.parameters.encoder_and_pooler,
            "pretraining": self.parameters.pretraining,
        }
        values = {name: getattr(self, name) for name in ("name", "source", "length", "batch_size")}
        return {
            **values,
            "config": self.config.to_dict(),
            "parameters": {**asdict(self.parameters), **totals},
            "flops_per_token": asdict(self.flops),
            "training_memory_bytes": {**asdict(self.memory), "total": self.memory.training},
        }

    def to_text(self) -> str:
        """The result as text."""
        config, counts = self.config, self.parameters
        parts = ", ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in asdict(counts).items() if number)
        return "\n".join(
            [
                f"{self.name}: {self.source}",
                f"  L={config.num_hidden_layers} H={config.hidden_size} E={config.embedding_size} "
                f"A={config.num_attention_heads} I={config.intermediate_size} V={config.vocab_size:,}, "
                f"sharing {config.sharing}, {config.num_hidden_groups} group(s) of {config.inner_group_num} block(s), "
                f"{len(sharing_schedule(config))} blocks run",
                f"  parameters  {counts.encoder:,} encoder, {counts.encoder_and_pooler:,} with pooler, "
                f"{counts.pretraining:,} with pretraining heads",
                f"              {parts}",
                f"  FLOPs       {self.flops.forward / 1e6:,.1f} M forward, "
                f"{self.flops.training / 1e6:,.1f} M training per token at length {self.length}",
                f"  memory      {4 * counts.encoder_and_pooler / MIB:,.0f} MiB of weights in fp32; training "
                f"{self.batch_size} × {self.length} tokens about {self.memory.training / MIB:,.0f} MiB "
                f"({self.memory.activations / MIB:,.0f} of activations)",
            ]
        )


def info(name: str, overrides: Collection[str] = (), *, length: int | None = None, batch_size: int = 8) -> Info:
    """The costs of a preset or of the model in a directory, for training on `batch_size` × `length` tokens.

    `overrides` change fields of its config: `sharing=none` or `model.sharing=none`. Without a length it is 512, or the
    number of positions of a model that has fewer.
    """
    for setting, value in (("length", length), ("batch_size", batch_size)):
        if value is not None and value < 1:
            raise ConfigError(f"info: {setting} {value}, expected at least 1")
    source, config, adapters = _architecture(name)
    if overrides:
        changes = [override.removeprefix("model.") for override in overrides]
        config = ModelConfig.parse(with_overrides(config.to_dict(), changes), where=f"info {name}")
        source = f"{source}; changed: {' '.join(overrides)}"
    positions = config.max_position_embeddings
    if length is None:
        length = min(LENGTH, positions)
    if length > positions:
        raise ConfigError(f"info: length {length}, but {name} has {positions} positions; give at most as many")
    predicted = 0.15
    return Info(
        name=name,
        source=source,
        config=config,
        parameters=parameter_counts(config, adapters),
        flops=flops_per_token(config, length=length, predicted=predicted),
        memory=memory(config, batch_size=batch_size, length=length, predicted=predicted),
        length=length,
        batch_size=batch_size,
    )


def _architecture(name: str) -> tuple[str, ModelConfig, LoRASettings | None]:
    """Source of the architecture, the architecture, and its adapters, if any."""
    path = Path(name)
    if not path.exists() and name in PRESETS:
        return PRESETS[name].source, PRESETS[name].config, None
    model = _model_files(name)
    spec = read_model_spec(model)
    return str(config_file(model)), spec.config, spec.adapters


def _model_files(name: str) -> Path:
    """The directory or file with the config of a model."""
    path = Path(name)
    if path.is_dir():
        return local_model_directory(path)
    if path.suffix == ".json" and path.is_file():
        return path
    if path.exists():
        raise ConfigError(f"{path}: is a file; give a preset, a model or run directory, or a config.json")
    if "/" not in name:
        raise ConfigError(
            f"{name}: no such directory and no preset; check the path, or give a preset: {suggestion(name, PRESETS)}"
        )
    return fetch_config(name)
