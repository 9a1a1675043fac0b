"""The settings of a fine-tuning run."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, model_validator

from litebert.commands.finetune.data_settings import BenchmarkFiles, Data, num_training_rows
from litebert.commands.finetune.default_settings import (
    BASE_HIDDEN_SIZE,
    MUON_LEARNING_RATE,
    SMALL_BATCH_ROWS,
    defaults_of_run,
    hidden_size_of,
    is_small,
    is_small_encoder,
    settings_for_size,
    with_choices_of_run,
)
from litebert.commands.finetune.postprocessing.validate_postprocessing import validate_postprocessing
from litebert.commands.finetune.start.model_limits import validate_fits_saved_model
from litebert.commands.recipes import load_recipe
from litebert.commands.runs.card_settings import CardSettings
from litebert.commands.runs.compute import Compute
from litebert.model.config import Pooling
from litebert.model.layers.lora_settings import Freeze, LoRASettings
from litebert.settings import NameOrNames, Settings, merged_settings, with_overrides
from litebert.tasks.benchmarks.benchmarks import benchmark_task
from litebert.tasks.input_settings import LongTexts
from litebert.tasks.labelled_data import ClassWeights
from litebert.training.train_settings import OptimizerName, TrainSettings


def _without_spike_detection(train: Any) -> Any:
    # Fine-tuning batches are small and some are hard: a high loss there is no sign of divergence.
    return {"spikes": {"policy": "none"}, **train} if isinstance(train, Mapping) else train


def _check_class_weights(value: Any) -> ClassWeights | None:
    """The setting, with label names as text."""
    if value is None or value == "balanced":
        return value
    if isinstance(value, Mapping) and any(isinstance(label, bool) for label in value):
        raise ValueError("YAML reads yes, no, on, off, true and false as booleans; quote a label: {'yes': 2}")
    numbers = isinstance(value, Mapping) and all(
        isinstance(weight, int | float) and 0 < weight < float("inf") for weight in value.values()
    )
    if not numbers or not value:
        raise ValueError("expected `balanced`, or a positive number for each label with a weight other than 1")
    return {str(label): float(weight) for label, weight in value.items()}


def _check_elastic_depth(depths: tuple[int, ...]) -> tuple[int, ...]:
    """The setting in ascending order."""
    if any(layers < 1 for layers in depths) or len({*depths}) < len(depths):
        raise ValueError("expected different positive numbers of layers, such as [2, 4]")
    return tuple(sorted(depths))


class FinetuneRun(Settings):
    """The settings of a fine-tuning run."""

    model: str
    """Model directory, run directory or name on the hub; with `from_scratch` a preset or a directory of a model."""
    from_scratch: bool = False
    """Start from random weights, for baselines and tests."""
    tokenizer: Path | None = None
    """Tokenizer directory; null: that of the model."""
    data: Data
    """Labelled files of your own (`train`, …), or a published task (`task`, `directory`)."""
    metrics: NameOrNames = ()
    """Metrics, or one; the first selects the best model. Empty: those of the benchmark or of the task type."""
    train: Annotated[TrainSettings, BeforeValidator(_without_spike_detection)]
    """Optimizer, schedule, length of the run, precision. Spike detection is off unless `train.spikes` is given. Without
    an optimizer and a learning rate a small encoder of `litebert pretrain` that is trained whole has `muon`; otherwise
    the optimizer is `adamw`."""
    batch_size: int = Field(default=32, gt=0)
    """Examples in one step, over all processes. Source: ALBERT, table 14, as the next four settings."""
    max_length: int | None = Field(default=None, ge=3)
    """Longest input in tokens. Null: 128, or more where 99 % of the training rows need it."""
    long_texts: LongTexts = "truncate"
    """What is read of a text of more than `max_length` tokens: `truncate`: its first tokens; `windows`: all of it, in
    several inputs, whose outputs are averaged. For single texts with a label, labels or a score."""
    hidden_dropout_prob: float = Field(default=0.0, ge=0, lt=1)
    """Dropout in the encoder."""
    attention_probs_dropout_prob: float = Field(default=0.0, ge=0, lt=1)
    """Dropout on the attention probabilities."""
    classifier_dropout_prob: float = Field(default=0.1, ge=0, lt=1)
    """Dropout in front of the new head."""
    classifier_pooling: Pooling | None = None
    """What the classifier of a sequence reads: `cls`: the first token, as ALBERT; `mean`: the mean of all tokens; null:
    that of the model."""
    fit_duplicate_token_heads: Literal[False, True, "if_pairs", "auto"] = False
    """Before training, set query and key of two heads of every stored attention so that they attend to the same
    token in the other text, from statistics of the training rows. For pairs of texts and questions with a small
    encoder, whose pretraining was too short to find such heads; a large one has them. Rows of one text, and a model
    without room for such heads, are an error, or, with `if_pairs`, train the model without them. `auto`, as in the
    recipe `default`: `if_pairs` for an encoder of `litebert pretrain` with a hidden size up to 384 that is trained
    whole, else false."""
    duplicate_token_logit: float = Field(default=8.0, gt=0)
    """Attention logit that `fit_duplicate_token_heads` gives equal tokens; a larger one makes the attention sharper.
    Read only where heads are fitted, so that a recipe has the one of its task."""
    microbatch_size: int = Field(default=32, gt=0)
    """Examples in one forward and backward pass; fewer need less memory and give the same gradient."""
    compute: Compute = Compute()
    """Compilation and activation checkpointing: they change the cost of a step, not its result."""
    seed: int = Field(default=0, ge=0)
    """Seed of the new head, of new adapters, of fitted heads, of dropout and of the order of the examples."""
    keep_head: bool = False
    """Continue with the head of a model fine-tuned on the same labels; otherwise the head is initialized randomly."""
    early_stopping_patience: int | None = Field(default=None, gt=0)
    """Evaluations without improvement after which the run stops; null: never. The schedule is not shortened."""
    calibrate: bool = False
    """Calibrate the probabilities of a classifier by temperature scaling: its logits are divided by a temperature that
    is fitted on the development rows. No predicted class changes."""
    tune_thresholds: bool = False
    """Choose the decision threshold of each label of a multi-label task by its F1 on the development rows, instead of
    0.5; with two classes, that of the second class by macro F1. The bias of the classifier is shifted so that the
    threshold becomes 0.5."""
    class_weights: Annotated[ClassWeights | None, PlainValidator(_check_class_weights)] = None
    """Weights of the labels in the loss: null: equal; `balanced`: inverse frequencies; or numbers by label."""
    standardize_scores: bool = True
    """Train a regression head on scores of mean 0 and standard deviation 1, by those of the training rows; the
    predictions have the scale of the data. False: on the scores as they are, as
    google-research/albert does."""
    elastic_depth: Annotated[tuple[int, ...], AfterValidator(_check_elastic_depth)] = ()
    """Numbers of layers, such as `[2, 4]`: each step trains the first so many layers or all, drawn at random, so that
    `litebert convert --layers` makes faster models without training. Empty: all layers in every step."""
    freeze: Freeze | None = None
    """Frozen parameters: `nothing`, `embeddings`, `all_but_pooler` or `encoder`; null: `encoder` with adapters."""
    layerwise_lr_decay: float = Field(default=1.0, gt=0, le=1)
    """Factor of the learning rate for each block below the head; a block shared by all layers counts once."""
    adapters: LoRASettings | None = None
    """LoRA adapters: rank, alpha, projections, per_layer; null: none."""
    baseline: bool = True
    """Compare the model with a constant prediction and, for tasks of texts, with a linear model (scikit-learn)."""
    card: CardSettings = CardSettings()
    """Licence, languages and intended uses for the model card."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.train.fsdp:
            raise ValueError("train.fsdp: fine-tuning does not shard the model; set it to false")
        if self.keep_head and self.from_scratch:
            raise ValueError("keep_head: a model from scratch has no head to keep; set one of the two to false")
        if named := self._named_task_type():
            self.validate_postprocessing(named, labels=None)
        if self.elastic_depth and self.adapters and self.adapters.per_layer:
            raise ValueError(
                "elastic_depth: a model with per-layer adapters keeps all its layers; set adapters.per_layer=false"
            )
        if self.early_stopping_patience and self.train.evaluate_every is None:
            raise ValueError(
                "early_stopping_patience: the model is evaluated once, at the end; set train.evaluate_every, or leave "
                "the patience out"
            )
        if self.fit_duplicate_token_heads not in (False, "auto") and (frozen := self._without_training()):
            raise ValueError(
                f"fit_duplicate_token_heads: the model must be trained to use new heads, but {frozen} is set; "
                "set fit_duplicate_token_heads=false"
            )
        return self

    @property
    def no_effect(self) -> tuple[str, ...]:
        """The card and what the model is compared with."""
        return ("card", "baseline")

    def validate_postprocessing(self, task_type: str, labels: Sequence[str] | None) -> None:
        """Raise ConfigError for `calibrate` or `tune_thresholds` where the task has no use for it."""
        if self.calibrate or self.tune_thresholds:  # torch is imported for them only
            validate_postprocessing(task_type, labels, calibrate=self.calibrate, tune_thresholds=self.tune_thresholds)

    def _named_task_type(self) -> str | None:
        """The task type, where it is known before a file is read."""
        data = self.data
        return benchmark_task(data.task).task_type if isinstance(data, BenchmarkFiles) else data.task_type

    @property
    def fits_heads(self) -> bool:
        """Whether duplicate-token heads are fitted where the rows and the model allow it."""
        if self.fit_duplicate_token_heads != "auto":
            return bool(self.fit_duplicate_token_heads)
        return not self.from_scratch and self.trains_small_encoder

    @property
    def trains_small_encoder(self) -> bool:
        """Whether the whole of a small encoder of `litebert pretrain` is trained, or one like it from scratch."""
        return self._without_training() is None and is_small_encoder(self.model)

    def _without_training(self) -> str | None:
        """The setting that keeps the encoder, or a head that was trained with it, as it is; None if all is trained."""
        if self.adapters is not None:
            return "adapters"
        if self.freeze not in (None, "nothing", "embeddings"):
            return f"freeze={self.freeze}"
        return "keep_head" if self.keep_head else None


RecipeSet = Literal["paper", "small"]
"""`paper`: the rows of the paper's table 14, for models of base size and up; `small`: recipes of an encoder of a few
million parameters, such as `sst-2-small`."""
_DECIDE_OPTIMIZER: Final = ("train.optimizer", "train.learning_rate", "freeze", "adapters", "keep_head")
"""Settings that decide between Muon and AdamW."""
_RECIPE_OF: Final = {"race-middle": "race", "race-high": "race", "wnli-pronouns": "wnli"}


def recipe_of_task(name: str, recipes: RecipeSet = "paper") -> str:
    """The recipe of a published task: that of its name, except for the levels of RACE and the pronouns of WNLI."""
    recipe = _RECIPE_OF.get(name, name)
    return recipe if recipes == "paper" else f"{recipe}-{recipes}"


def load_finetune_config(
    recipe: str,
    overrides: Iterable[str] = (),
    *,
    given: Mapping[str, Any] | None = None,
    open_files: bool = True,
    out: Path | None = None,
    varied: Mapping[str, Collection[Any]] = MappingProxyType({}),
) -> FinetuneRun:
    """The settings of a recipe (its name, a task, a .yaml file), the values `given`, then `key.path=value`.

    A missing optimizer, learning rate, duration or batch size is chosen by the model and the size of the data; without
    `open_files`, by that of ALBERT-base and few rows. If model or data are gone, it is that of the run in `out`. A run
    that exists in `out` keeps its optimizer, and in place of `fit_duplicate_token_heads: auto` its own setting.
    A learning rate that is given is one of AdamW, unless an optimizer is given, too. `varied` are settings
    in which several runs with these defaults differ, with their values; where they decide the optimizer, the defaults
    are those of AdamW.
    """
    chosen = load_recipe(recipe_of_task(recipe), command="finetune")
    values = with_choices_of_run(out, with_overrides({**chosen.settings, **(given or {})}, overrides))
    complete = merged_settings(settings_for_size(BASE_HIDDEN_SIZE, SMALL_BATCH_ROWS).to_dict(), values)
    # Wrong settings are refused before a model or a file is opened.
    run = FinetuneRun.parse(complete, where=chosen.name)
    if not open_files:
        return run
    validate_fits_saved_model(run.model, max_length=run.max_length, elastic_depth=run.elastic_depth)
    leaves_muon_open = run.train.optimizer == "muon" and "muon_learning_rate" not in values["train"]
    if complete == values and not leaves_muon_open:
        return run
    given_train = values.get("train", {})
    is_decided = "learning_rate" in given_train or any(each.startswith(_DECIDE_OPTIMIZER) for each in varied)
    optimizer = given_train.get("optimizer") or ("adamw" if is_decided else None)
    defaults = _defaults(run, out, optimizer)
    if "muon" in varied.get("train.optimizer", ()):
        defaults["train"].setdefault("muon_learning_rate", MUON_LEARNING_RATE)
    return FinetuneRun.parse(merged_settings(defaults, values), where=chosen.name)


def _defaults(run: FinetuneRun, out: Path | None, optimizer: OptimizerName | None) -> dict[str, Any]:
    """What is chosen by size; where a size is not known, what the run in `out` has, so that it can be resumed."""
    hidden_size, rows = hidden_size_of(run.model), num_training_rows(run.data)
    optimizer = optimizer or ("muon" if is_small(hidden_size) and run.trains_small_encoder else "adamw")
    usual = settings_for_size(hidden_size or BASE_HIDDEN_SIZE, rows or SMALL_BATCH_ROWS, optimizer=optimizer).to_dict()
    return usual if out is None or (hidden_size and rows) else defaults_of_run(out, usual)
