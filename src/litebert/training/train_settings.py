"""The settings of a training run."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PlainSerializer, PlainValidator, model_validator

from litebert.errors import ConfigError
from litebert.settings import DeviceName, Settings, TrainingPrecision
from litebert.training.loop.duration import Duration
from litebert.training.optim.lr_schedules import Curve, Schedule

OptimizerName = Literal["lamb", "adamw", "muon"]
VectorOptimizerName = Literal["lamb", "adamw"]
TrackerName = Literal["tensorboard", "wandb", "trackio"]
SpikePolicy = Literal["none", "skip", "rollback", "stop"]


def _warmup(value: Any) -> float | Duration:
    try:
        fraction = float(value)
    except (TypeError, ValueError):
        return Duration.parse(value)
    if not 0 <= fraction < 1:
        raise ConfigError("a fraction must lie in [0, 1); a duration needs its unit, such as '1000 steps'")
    return fraction


def _patterns(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        try:
            re.compile(value)
        except re.error as error:
            raise ConfigError(f"{value!r} is not a regular expression: {error}") from None
    return values


WITHOUT_BATCH_SIZE = ("tokens", "seconds")
"""Units of a duration whose end does not follow from the steps and the batch size."""
NON_NUMERIC_SETTINGS = (
    *("evaluate_every", "checkpoint_every", "keep_checkpoints", "milestones", "log_every", "trackers"),
    *("max_consecutive_skipped_steps", "device", "fsdp", "timeout_seconds", "allow_config_changes"),
)
"""Names of the settings that a resumed run may change, because no update depends on them.

After a rollback the weights do depend on some of them: `checkpoint_every` and `keep_checkpoints` decide to which step
a run returns, `max_consecutive_skipped_steps` when it does.
"""
Warmup = Annotated[
    float | Duration,
    PlainValidator(_warmup, json_schema_input_type=float | str),
    PlainSerializer(lambda value: str(value) if isinstance(value, Duration) else value),
]
Beta = Annotated[float, Field(ge=0, lt=1)]


Patterns = Annotated[tuple[str, ...], AfterValidator(_patterns)]


class SpikeSettings(Settings):
    """What to do about a spike: a step whose loss or gradient norm is far above those of the steps before it."""

    policy: SpikePolicy = "rollback"
    """`skip` leaves out the update; `rollback` also returns to a checkpoint after too many skipped steps in a row;
    `stop` ends the run; `none` updates the weights all the same."""
    sigma_factor: float = Field(default=6.0, gt=0)
    """A value is a spike if it is above the mean by more than this many standard deviations."""
    window: int = Field(default=128, ge=2)
    """Steps over which mean and deviation are taken; detection begins after half of them."""
    max_rollbacks: int = Field(default=2, ge=0)
    """How many times a run may return to a checkpoint before it fails."""


class TrainSettings(Settings):
    """Duration, optimizer, learning rate schedule, precision; intervals of evaluation, checkpoints and logging."""

    duration: Duration
    """Length of the run: a number of steps, examples, tokens, epochs, seconds, minutes, hours or days."""
    optimizer: OptimizerName = "lamb"
    """`lamb` (You et al., 2020), `adamw` (Loshchilov and Hutter, 2019), or `muon` (Jordan et al., 2024) for the
    matrices that `muon_parameters` names and `muon_companion` for all other parameters."""
    bias_correction: bool | None = None
    """Whether the moments are corrected for their initialization at zero; null: no for `lamb`, as in
    google-research/albert, yes for `adamw`, as in PyTorch; beside `muon` as for its companion."""
    learning_rate: float = Field(gt=0)
    """Peak of the schedule."""
    muon_learning_rate: float = Field(default=0.02, gt=0)
    """Peak of the schedule for the matrices of `muon`, whose updates are orthogonal."""
    muon_momentum: Beta = 0.95
    """Nesterov momentum of `muon`."""
    muon_parameters: Patterns = ("attentions", "feed_forwards")
    """Regular expressions; `muon` updates the matrices whose names they match: by default those of the blocks."""
    muon_companion: VectorOptimizerName = "adamw"
    """Optimizer of the parameters that `muon` does not update, with `learning_rate`."""
    lr_reference_batch_size: int | None = Field(default=None, gt=0)
    """Batch size that the learning rates are meant for: each peak is multiplied by √(batch size ÷ this)."""
    betas: tuple[Beta, Beta] = (0.9, 0.999)
    """Decay rates of the first and second moments."""
    eps: float = Field(default=1e-6, gt=0)
    """Added to the square root of the second moment."""
    weight_decay: float = Field(default=0.01, ge=0)
    """Coefficient of the decoupled weight decay."""
    exclude_from_weight_decay: Patterns = ("norm", "bias")
    """Regular expressions; parameters whose names they match have no weight decay."""
    exclude_from_layer_adaptation: Patterns | None = None
    """Regular expressions; parameters whose names they match are updated without LAMB's trust ratio. Null: those of
    `exclude_from_weight_decay`, as in google-research/albert."""
    schedule: Schedule = Curve(type="linear")
    """Learning rate after warm-up: constant, linear, polynomial, cosine, warmup_stable_decay or linear_tf."""
    warmup: Warmup = 0.0
    """Linear warm-up: a fraction of the run, or a duration."""
    max_grad_norm: float | None = Field(default=1.0, gt=0)
    """Gradients are clipped to this global norm; null does not clip."""
    precision: TrainingPrecision = "auto"
    """Arithmetic of the forward and backward; the weights themselves stay in fp32. `auto` is measured by `pretrain` and
    `finetune` when a run begins, by commands with several runs once for all of them."""
    evaluate_every: Duration | None = None
    """Interval of evaluation; null evaluates once, at the end."""
    checkpoint_every: Duration = Duration.parse("1000 steps")
    """Interval of checkpoints; one is always saved at the end."""
    keep_checkpoints: int = Field(default=3, ge=1)
    """Number of checkpoints to keep, the newest ones."""
    milestones: tuple[Duration, ...] = ()
    """Points of the run, such as `[50000 steps, 100000 steps]`, at which the model is saved in `milestones/` of the run
    directory, as a model directory that stays."""
    log_every: int = Field(default=1, ge=1)
    """Steps between two records in `metrics.jsonl`."""
    trackers: tuple[TrackerName, ...] = ()
    """Experiment trackers that get the metrics besides `metrics.jsonl`."""
    spikes: SpikeSettings = SpikeSettings()
    """What to do about a step whose loss or gradient norm is far above those before it."""
    max_consecutive_skipped_steps: int = Field(default=20, ge=0)
    """Steps in a row that may be skipped as not finite or as spikes; after one more the run rolls back or fails."""
    device: DeviceName = "auto"
    """`auto` uses a CUDA device if there is one."""
    fsdp: bool = False
    """Shard weights, gradients and optimizer state over the processes (FSDP2) instead of replicating them."""
    timeout_seconds: float = Field(default=600.0, gt=0)
    """How long a process waits for the others before the run fails."""
    allow_config_changes: tuple[str, ...] = ()
    """Settings, or groups of them, that may differ from those of the run to resume, such as `train.duration`."""

    @model_validator(mode="after")
    def _batch_size_may_change(self) -> "TrainSettings":
        if "batch_size" in self.allow_config_changes and self.duration.unit not in WITHOUT_BATCH_SIZE:
            raise ValueError(
                f"allow_config_changes: batch_size can change only in a run of tokens or time, and duration is "
                f"{self.duration.to_text()}: its end and learning rate follow from the steps and the batch size"
            )
        return self

    @model_validator(mode="after")
    def _validate(self) -> "TrainSettings":
        if self.precision == "fp16" and self.fsdp:
            # Every process would scale by the overflows of its own shard.
            raise ConfigError("precision: fp16 does not work with fsdp; use bf16")
        if self.optimizer == "muon" and self.fsdp:
            # Its update orthogonalizes whole matrices, of which every process has a shard.
            raise ConfigError("optimizer: muon does not work with fsdp; use fsdp=false, or adamw or lamb")
        return self

    def numeric_settings(self) -> dict[str, Any]:
        """The settings that every update depends on; a run is resumed only with the same."""
        return {name: value for name, value in self.to_dict().items() if name not in NON_NUMERIC_SETTINGS}
