"""Everything that can be set about a training run. Before: a recipe or the command line. After: `trainer.py`."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PlainSerializer, PlainValidator, model_validator

from litebert.errors import ConfigError
from litebert.settings import Settings
from litebert.training.loop.duration import Duration
from litebert.training.monitoring.spike_detector import SpikeSettings
from litebert.training.optim.lr_schedules import Linear, Schedule

OptimizerName = Literal["lamb", "lamb_bias_corrected", "adamw", "adamw_uncorrected"]
Precision = Literal["fp32", "bf16", "fp16"]
DeviceName = Literal["auto", "cpu", "cuda"]
TrackerName = Literal["tensorboard", "wandb", "trackio"]


def _warmup(value: Any) -> float | Duration:
    try:
        fraction = float(value)
    except (TypeError, ValueError):
        return Duration.parse(value)
    if not 0 <= fraction < 1:
        raise ConfigError("a fraction must lie in [0, 1); a length needs its unit, such as '1000 steps'")
    return fraction


def _patterns(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        try:
            re.compile(value)
        except re.error as error:
            raise ConfigError(f"{value!r} is not a regular expression: {error}") from None
    return values


NON_NUMERIC_SETTINGS = (
    *("evaluate_every", "checkpoint_every", "keep_checkpoints", "log_every", "trackers"),
    *("max_consecutive_skipped_steps", "device", "sharded", "timeout_seconds", "allow_config_changes"),
)
"""Names of the settings on which no trained weight depends."""
Warmup = Annotated[
    float | Duration,
    PlainValidator(_warmup, json_schema_input_type=float | str),
    PlainSerializer(lambda value: str(value) if isinstance(value, Duration) else value),
]
Beta = Annotated[float, Field(ge=0, lt=1)]


class TrainSettings(Settings):
    """How to train: length, optimizer, schedule, precision, and how often to look, save and log."""

    duration: Duration
    """Length of the run: a number of steps, examples, tokens, epochs, seconds, minutes, hours or days."""
    optimizer: OptimizerName = "lamb"
    """`lamb` and `adamw_uncorrected` as the original code has them, `lamb_bias_corrected` as LAMB's paper, `adamw`."""
    learning_rate: float = Field(gt=0)
    """Peak of the schedule."""
    lr_reference_batch_size: int | None = Field(default=None, gt=0)
    """Batch size that `learning_rate` is meant for: the peak becomes the rate times the root of batch size ÷ this."""
    betas: tuple[Beta, Beta] = (0.9, 0.999)
    """Decay rates of the running means of the gradient and of its square."""
    eps: float = Field(default=1e-6, gt=0)
    """Added to the root of the mean squared gradient."""
    weight_decay: float = Field(default=0.01, ge=0)
    """Decoupled weight decay, as a share of the weight for each unit of learning rate."""
    exclude: Annotated[tuple[str, ...], AfterValidator(_patterns)] = ("norm", "bias")
    """Regular expressions; parameters whose names they match are not decayed, nor adapted by LAMB's trust ratio."""
    schedule: Schedule = Linear()
    """Learning rate after warm-up: constant, linear, polynomial, cosine, warmup_stable_decay or original."""
    warmup: Warmup = 0.0
    """Linear warm-up: a fraction of the run, or a duration."""
    max_grad_norm: float | None = Field(default=1.0, gt=0)
    """Largest global norm of the gradient; null leaves gradients as they are."""
    precision: Precision = "fp32"
    """Arithmetic of the forward and backward; the weights themselves stay in fp32."""
    seed: int = Field(default=0, ge=0)
    """Key of the dropout's randomness."""
    evaluate_every: Duration | None = None
    """How often to evaluate; null evaluates once, at the end."""
    checkpoint_every: Duration = Duration.parse("1000 steps")
    """How often to save a checkpoint; one is always saved at the end."""
    keep_checkpoints: int = Field(default=3, ge=1)
    """How many of the newest checkpoints stay."""
    log_every: int = Field(default=1, ge=1)
    """Steps from one record in `metrics.jsonl` to the next."""
    trackers: tuple[TrackerName, ...] = ()
    """Where the records go besides `metrics.jsonl`."""
    spikes: SpikeSettings = SpikeSettings()
    """What to do about a step whose loss or gradient norm is far above those before it."""
    max_consecutive_skipped_steps: int = Field(default=20, ge=0)
    """Steps in a row that may be left out, not finite or spikes; one more and the run goes back or ends."""
    device: DeviceName = "auto"
    """`auto` takes a CUDA device where there is one."""
    sharded: bool = False
    """Shard weights, gradients and optimizer state over the processes (FSDP2) instead of repeating them on each."""
    timeout_seconds: float = Field(default=600.0, gt=0)
    """How long a process waits for the others before it gives up."""
    allow_config_changes: tuple[str, ...] = ()
    """Names of fingerprint fields that may differ from those of the checkpoint to resume, such as `train.duration`."""

    @model_validator(mode="after")
    def _fits_together(self) -> "TrainSettings":
        if self.precision == "fp16" and self.sharded:
            # Every process would scale by the overflows of its own shard.
            raise ConfigError("precision: fp16 cannot be sharded; use bf16")
        return self

    def numbers(self) -> dict[str, Any]:
        """The settings on which the trained weights depend; a run is resumed with these unchanged."""
        return {name: value for name, value in self.to_dict().items() if name not in NON_NUMERIC_SETTINGS}
