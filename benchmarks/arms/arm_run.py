"""Trains and scores one arm of ladder.py, with a number of tokens and a seed, in its run directory."""

import hashlib
import json
import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from arms.first_phases import FIRST_PHASES, StopAtHalf
from arms.trials import TRIALS
from litebert.analysis.curves import read_curves
from litebert.commands.evaluate.minimal_pairs import evaluate_minimal_pairs
from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.pretrain.pretrain_result import PretrainResult
from litebert.commands.pretrain.pretrain_settings import PretrainRun, load_pretrain_config
from litebert.commands.runs.run_directory import RunDirectory
from litebert.commands.runs.run_precision import with_saved_precision
from litebert.errors import ConfigError
from litebert.files import write_text
from litebert.inference.word_masking import Scoring
from litebert.settings import Settings, with_overrides
from litebert.training.callbacks.callback import Callback
from litebert.training.distributed.context import DistributedContext

TRIAL = "trial="
COST = "cost="
SECOND_PHASE = "second-phase"
"""File in the run directory of a trial whose first phase is finished."""
Curve = list[tuple[float, float, float]]
"""Seconds, tokens and loss of each evaluation."""
CHANGED_BY_PHASES = ("sampling", "batch_size", "microbatch_size")


class Job(Settings):
    """One arm on one rung with one seed, to train and score."""

    recipe: str
    arm: str
    overrides: tuple[str, ...]
    tokens: int
    """Of the reference on this rung; the arm's own divided by its cost."""
    seed: int
    ladder: Path
    """Directory of the ladder."""
    corpus: Path
    suite: Path | None

    @property
    def name(self) -> str:
        """That of its run directory."""
        return f"{self.arm}-{self.tokens}-seed{self.seed}"

    @property
    def out(self) -> Path:
        """Its run directory."""
        return self.ladder / self.name

    @property
    def log(self) -> Path:
        """What its process logs, if it has one of its own."""
        return self.ladder / "logs" / f"{self.name}.log"

    def settings(self) -> tuple[PretrainRun, str | None]:
        """The settings of its run, and its trial if it has one; ConfigError if its directory has another run."""
        fixed = [f"train.duration={int(self.tokens / cost_of(self.arm, self.overrides))} tokens", f"seed={self.seed}"]
        settings, trial = settings_of(self.recipe, self.arm, [*self.overrides, *fixed], corpus=self.corpus)
        settings = with_saved_precision(settings, self.out, DistributedContext.current())
        refuse_other_settings(self.out, settings, trial)
        return settings, trial


@dataclass(frozen=True, kw_only=True)
class Run:
    """The scores of one arm on one rung with one seed."""

    arm: str
    tokens: int
    """Of the reference on this rung; the arm's own divided by its cost."""
    seed: int
    seconds: float
    """Of all steps."""
    mlm_accuracy: float
    mlm_loss: float
    clm_loss: float | None
    """Of next tokens; None for an arm without causal steps."""
    pairs: float | None
    """Mean accuracy over the paradigms of the suite; None without a suite."""
    scoring: str | None
    curve: Curve
    """Seconds, tokens and MLM loss of each evaluation."""
    clm_curve: Curve = field(default_factory=list)
    """The same with the loss of next tokens; empty for an arm without causal steps."""


def run_job(job: Job, *, callbacks: Sequence[Callback] = ()) -> Run:
    """Train and score an arm; a finished one is read from its directory."""
    if finished := finished_run(job):
        return finished
    settings, trial = job.settings()
    write_text(trial_file(job.out), json.dumps(trial))
    with TRIALS[trial]() if trial in TRIALS else nullcontext([]) as of_trial:
        trained = train(settings, job.out, trial=trial, callbacks=[*callbacks, *of_trial])
        pairs, scoring = score_pairs(trained.model, settings, job.suite)
    assert trained.end is not None
    result = Run(
        arm=job.arm,
        tokens=job.tokens,
        seed=job.seed,
        seconds=trained.step_seconds,
        mlm_accuracy=trained.end.mlm_accuracy,
        mlm_loss=trained.end.mlm_loss,
        clm_loss=trained.end.clm_loss,
        pairs=pairs,
        scoring=scoring,
        curve=loss_curve(job.out / "metrics.jsonl", "mlm_loss"),
        clm_curve=[] if trained.end.clm_loss is None else loss_curve(job.out / "metrics.jsonl", "clm_loss"),
    )
    write_text(scores_file(job.out, job.suite), json.dumps(asdict(result)))
    return result


def finished_run(job: Job) -> Run | None:
    """The scores in the run directory, if it has them; ConfigError if it is that of another run."""
    job.settings()
    scores = scores_file(job.out, job.suite)
    return Run(**json.loads(scores.read_text())) if scores.is_file() else None


def settings_of(recipe: str, arm: str, overrides: Sequence[str], *, corpus: Path) -> tuple[PretrainRun, str | None]:
    """The settings of a run, and its trial if it has one; ConfigError if one of them is wrong."""
    trial = trial_of(arm, overrides)
    cost_of(arm, overrides)
    changes = [word for word in overrides if not word.startswith((TRIAL, COST))]
    try:
        return load_pretrain_config(recipe, changes, corpus=corpus), trial
    except ConfigError as error:
        raise ConfigError(f"{arm}: {error}") from None


def trial_of(arm: str, overrides: Sequence[str]) -> str | None:
    """The trial of an arm, if it has one; ConfigError for one that does not exist, or for two."""
    known = [*TRIALS, *FIRST_PHASES]
    trials = [word.removeprefix(TRIAL) for word in overrides if word.startswith(TRIAL)]
    if len(trials) > 1 or not set(trials) <= set(known):
        raise ConfigError(f"{arm}: expected at most one trial of {', '.join(known)}; found {', '.join(trials)}")
    return trials[0] if trials else None


def cost_of(arm: str, overrides: Sequence[str]) -> float:
    """Time of a token of an arm, relative to one of the reference; ConfigError for anything but a positive number."""
    costs = [word.removeprefix(COST) for word in overrides if word.startswith(COST)]
    if not costs:
        return 1.0
    try:
        (cost,) = map(float, costs)
    except ValueError:
        cost = 0.0
    if not 0 < cost < math.inf:
        raise ConfigError(f"{arm}: expected one cost, a positive number; found {', '.join(costs)}")
    return cost


def refuse_other_settings(out: Path, settings: PretrainRun, trial: str | None) -> None:
    """Raise ConfigError if the run in `out` is that of an arm which had other settings or another trial then."""
    file = trial_file(out)
    if out.exists() and file.is_file() and (before := json.loads(file.read_text())) != trial:
        raise ConfigError(
            f"{out}: was run with the trial {before}, and the arm now has {trial}; remove it, or use another --out"
        )
    if trial not in FIRST_PHASES:
        RunDirectory.open(out, settings, command="pretrain")
    elif (out / SECOND_PHASE).exists():
        RunDirectory.open(out, second_phase(settings), command="pretrain", allowed=CHANGED_BY_PHASES)


def trial_file(out: Path) -> Path:
    """Where the trial of a run is kept: beside its directory, which must not exist before the run."""
    return out.with_name(f"{out.name}.trial")


def scores_file(out: Path, suite: Path | None) -> Path:
    """Where the scores of a run are kept, one file for each suite."""
    digest = "none" if suite is None else hashlib.blake2b(str(suite.resolve()).encode(), digest_size=4).hexdigest()
    return out / f"ladder-{digest}.json"


def score_pairs(model: Path, settings: PretrainRun, suite: Path | None) -> tuple[float | None, Scoring | None]:
    """Mean accuracy over the paradigms of a suite, and how its sentences are scored; None without a suite."""
    if suite is None:
        return None, None
    masking = None if settings.sampling.causal_fraction else "token"
    scores = evaluate_minimal_pairs(model, suite, masking=masking, fast=True, precision="bf16")
    return scores.mean.accuracy, scores.scoring


def train(settings: PretrainRun, out: Path, *, trial: str | None, callbacks: list[Callback]) -> PretrainResult:
    """Pretrain, with other settings for half of the tokens if the trial is one of these."""
    if trial not in FIRST_PHASES:
        return pretrain(settings, out, callbacks=callbacks)
    if not (out / SECOND_PHASE).exists():
        first = PretrainRun.parse(with_overrides(settings.to_dict(), FIRST_PHASES[trial]), where=trial)
        pretrain(first, out, callbacks=[*callbacks, StopAtHalf()])
        (out / SECOND_PHASE).touch()
    return pretrain(second_phase(settings), out, callbacks=callbacks)


def second_phase(settings: PretrainRun) -> PretrainRun:
    """The settings of the second half of the tokens, which may differ from those of the first."""
    return settings.replace(train=settings.train.replace(allow_config_changes=CHANGED_BY_PHASES))


def loss_curve(metrics: Path, loss: str) -> Curve:
    """Seconds since the beginning, with evaluations, tokens, and `loss` on validation text."""
    curves = read_curves(metrics)
    losses = curves[f"evaluation/{loss}"]
    seconds, tokens = (
        np.interp(losses.steps, (0, *curve.steps), (0.0, *curve.values))
        for curve in (curves["train/elapsed_seconds"], curves["train/tokens"])
    )
    return [
        (round(float(second), 2), round(float(count)), value)
        for second, count, value in zip(seconds, tokens, losses.values, strict=True)
    ]
