"""Compares variants of a pretraining recipe: each runs for a few tokens, the better half for twice as many, and so on.

    python benchmarks/ladder.py ARMS.yaml --corpus CORPUS --out DIR --suite BLIMP [--tokens 2M --rungs 3 --seeds 3]

ARMS.yaml holds `recipe: NAME`, `settings: [key=value, …]` of all arms, and `arms: {name: [key=value, …]}`, in which
each arm differs from that; the first arm is the reference. `trial=NAME` patches the run (arms/trials.py); `cost=1.5`
says that a token of this arm takes 1.5 times as long as one of the reference, so that it gets as many fewer tokens and
all arms take equal time. Each run of a rung is trained from the beginning, because its learning rate falls to zero at
the end of the rung. The last rung is run with every seed. A rung ranks its arms by `--metric`: the accuracy on minimal
pairs, by next tokens if the arm has causal steps and otherwise by pseudo-log-likelihood, or the MLM loss on validation
text. Each run is a run directory, so a ladder that was stopped continues; `ladder.json` and `ladder.md` are written
after each run. Arms of equal tokens may differ in time: the seconds of a run's steps are in the table.

A second table has medians and ranges over the seeds of the last rung, and the speed-up: how many times faster than the
reference an arm reaches the MLM loss that both reach, by the evaluations of its run (`train.evaluate_every`), in
seconds and in tokens, and in tokens for the CLM loss. It compares like with like only for arms that predict masked
tokens in an equal share of their steps; the seconds are those of a quiet machine only if it is one.
"""

import argparse
import hashlib
import json
import math
import sys
from argparse import Namespace
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

import numpy as np
from arms.trials import FIRST_PHASES, TRIALS, StopAtHalf

from litebert.analysis.curves import read_curves
from litebert.commands.compute import with_saved_precision
from litebert.commands.evaluate.minimal_pairs import evaluate_minimal_pairs, read_minimal_pairs
from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.pretrain.pretrain_result import PretrainResult
from litebert.commands.pretrain.pretrain_settings import PretrainRun, load_pretrain_config
from litebert.commands.run_directory import RunDirectory
from litebert.errors import ConfigError, LitebertError
from litebert.inference.word_masking import Scoring
from litebert.settings import read_yaml, with_overrides
from litebert.training.callbacks.callback import Callback
from litebert.training.distributed.context import DistributedContext
from litebert.training.loop.duration import Duration

TRIAL = "trial="
COST = "cost="
SECOND_PHASE = "second-phase"
"""File in the run directory of a trial whose first phase is finished."""
Curve = list[tuple[float, float, float]]
"""Seconds, tokens and loss of each evaluation."""
CHANGED_BY_PHASES = ("sampling", "batch_size", "microbatch_size")
LARGER_IS_BETTER = {"pairs": True, "mlm_accuracy": True, "mlm_loss": False}


@dataclass(frozen=True, kw_only=True)
class Run:
    """One arm on one rung with one seed."""

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


def main() -> None:
    """Run all rungs, or continue where they stopped."""
    arguments = _arguments()
    try:
        run_ladder(arguments)
    except LitebertError as error:
        sys.exit(f"ladder.py: {error}")


def run_ladder(arguments: Namespace) -> None:
    """Run every arm of every rung; LitebertError for a wrong arm or suite before anything is trained."""
    file = read_yaml(arguments.arms)
    arms = {name: [*file.get("settings", []), *changes] for name, changes in file["arms"].items()}
    for name in arms:
        try:
            settings_of(file["recipe"], name, arms[name], corpus=arguments.corpus)
        except ConfigError as error:
            raise ConfigError(f"{arguments.arms}: {error}") from None
    if arguments.suite:
        read_minimal_pairs(arguments.suite)
    finished: list[Run] = []
    for rung in range(arguments.rungs):
        last = rung == arguments.rungs - 1
        tokens = int(Duration.parse(f"{arguments.tokens} tokens").amount) * 2**rung
        for seed in range(arguments.seeds if last else 1):
            for name in arms:
                finished.append(run(file["recipe"], name, arms[name], tokens=tokens, seed=seed, arguments=arguments))
                write_table(finished, arguments)
        arms = {name: arms[name] for name in better_half(arms, finished, tokens, arguments.metric)}


def run(recipe: str, name: str, overrides: list[str], *, tokens: int, seed: int, arguments: Namespace) -> Run:
    """Train and score an arm; a finished one is read from its directory."""
    out = arguments.out / f"{name}-{tokens}-seed{seed}"
    fixed = [f"train.duration={int(tokens / cost_of(name, overrides))} tokens", f"seed={seed}"]
    settings, trial = settings_of(recipe, name, [*overrides, *fixed], corpus=arguments.corpus)
    settings = with_saved_precision(settings, out, DistributedContext.current())
    refuse_other_settings(out, settings, trial)
    scores = scores_file(out, arguments.suite)
    if scores.is_file():
        return Run(**json.loads(scores.read_text()))
    with TRIALS[trial]() if trial in TRIALS else nullcontext([]) as callbacks:
        trained = train(settings, out, trial, callbacks)
        pairs, scoring = score_pairs(trained.model, settings, arguments.suite)
    assert trained.end is not None
    result = Run(
        arm=name,
        tokens=tokens,
        seed=seed,
        seconds=trained.step_seconds,
        mlm_accuracy=trained.end.mlm_accuracy,
        mlm_loss=trained.end.mlm_loss,
        clm_loss=trained.end.clm_loss,
        pairs=pairs,
        scoring=scoring,
        curve=loss_curve(out / "metrics.jsonl", "mlm_loss"),
        clm_curve=[] if trained.end.clm_loss is None else loss_curve(out / "metrics.jsonl", "clm_loss"),
    )
    scores.write_text(json.dumps(asdict(result)))
    return result


def settings_of(recipe: str, arm: str, overrides: list[str], *, corpus: Path) -> tuple[PretrainRun, str | None]:
    """The settings of a run, and its trial if it has one; ConfigError if one of them is wrong."""
    trial = trial_of(arm, overrides)
    cost_of(arm, overrides)
    changes = [word for word in overrides if not word.startswith((TRIAL, COST))]
    try:
        return load_pretrain_config(recipe, changes, corpus=corpus), trial
    except ConfigError as error:
        raise ConfigError(f"{arm}: {error}") from None


def trial_of(arm: str, overrides: list[str]) -> str | None:
    """The trial of an arm, if it has one; ConfigError for one that does not exist, or for two."""
    known = [*TRIALS, *FIRST_PHASES]
    trials = [word.removeprefix(TRIAL) for word in overrides if word.startswith(TRIAL)]
    if len(trials) > 1 or not set(trials) <= set(known):
        raise ConfigError(f"{arm}: expected at most one trial of {', '.join(known)}; found {', '.join(trials)}")
    return trials[0] if trials else None


def cost_of(arm: str, overrides: list[str]) -> float:
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
    file = out.with_name(f"{out.name}.trial")  # beside the run directory, which must not exist before its run
    if file.is_file() and (before := json.loads(file.read_text())) != trial:
        raise ConfigError(f"{out}: was run with the trial {before}, and the arm now has {trial}; remove the directory")
    if trial not in FIRST_PHASES:
        RunDirectory.open(out, settings, command="pretrain")
    elif (out / SECOND_PHASE).exists():
        RunDirectory.open(out, second_phase(settings), command="pretrain", allowed=CHANGED_BY_PHASES)
    out.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(trial))


def scores_file(out: Path, suite: Path | None) -> Path:
    """Where the scores of a run are kept, one file for each suite."""
    digest = "none" if suite is None else hashlib.blake2b(str(suite.resolve()).encode(), digest_size=4).hexdigest()
    return out / f"ladder-{digest}.json"


def score_pairs(model: Path, settings: PretrainRun, suite: Path | None) -> tuple[float | None, Scoring | None]:
    """Mean accuracy over the paradigms of a suite, and how its sentences are scored; None without a suite."""
    if suite is None:
        return None, None
    scoring: Scoring = "causal" if settings.sampling.causal_fraction else "pseudo_log_likelihood"
    return evaluate_minimal_pairs(model, suite, scoring=scoring, fast=True, precision="bf16").mean.accuracy, scoring


def train(settings: PretrainRun, out: Path, trial: str | None, callbacks: list[Callback]) -> PretrainResult:
    """Pretrain, with other settings for half of the tokens if the trial is one of these."""
    if trial not in FIRST_PHASES:
        return pretrain(settings, out, callbacks=callbacks)
    if not (out / SECOND_PHASE).exists():
        first = PretrainRun.parse(with_overrides(settings.to_dict(), FIRST_PHASES[trial]), where=trial)
        pretrain(first, out, callbacks=[StopAtHalf()])
        (out / SECOND_PHASE).touch()
    return pretrain(second_phase(settings), out)


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


def speed_up(curve: Curve, reference: Curve, *, column: int) -> float:
    """How many times faster than `reference` a curve reaches the lowest loss that both reach; column 0: in seconds, 1:
    in tokens.
    """
    target = max(min(loss for *_, loss in each) for each in (curve, reference))
    return reached(reference, target, column=column) / reached(curve, target, column=column)


def reached(curve: Curve, target: float, *, column: int) -> float:
    """Where a curve first falls to `target`, linear between evaluations."""
    before = curve[0]
    for now in curve:
        if now[2] <= target:
            share = (before[2] - target) / (before[2] - now[2]) if before[2] > now[2] else 0.0
            return before[column] + share * (now[column] - before[column])
        before = now
    raise ValueError(f"the loss {target} is not reached")


def better_half(arms: dict[str, list[str]], runs: list[Run], tokens: int, metric: str) -> list[str]:
    """Names of the arms that go on, in their order: half of them, rounded up, by the median over the seeds.

    The first arm, the reference, always goes on.
    """
    values = {
        name: median(getattr(run, metric) for run in runs if (run.arm, run.tokens) == (name, tokens)) for name in arms
    }
    ranked = sorted(values, key=lambda name: values[name], reverse=LARGER_IS_BETTER[metric])
    kept = ranked[: -(-len(ranked) // 2)]
    return [name for name in arms if name in kept or name == runs[0].arm]


def write_table(runs: list[Run], arguments: Namespace) -> None:
    """All runs so far as JSON and as a Markdown table, the best of each rung first."""
    (arguments.out / "ladder.json").write_text(json.dumps([asdict(run) for run in runs], indent=1))
    rows = [
        "| tokens | arm | seed | seconds | MLM accuracy | MLM loss | CLM loss | minimal pairs |",
        "|" + " --- |" * 8,
    ]
    best = LARGER_IS_BETTER[arguments.metric]
    for one in sorted(runs, key=lambda run: (-run.tokens, (-1 if best else 1) * getattr(run, arguments.metric))):
        pairs = "" if one.pairs is None else f"{one.pairs:.1%} ({one.scoring})"
        rows.append(
            f"| {one.tokens:,} | {one.arm} | {one.seed} | {one.seconds:.0f} | {one.mlm_accuracy:.1%} | "
            f"{one.mlm_loss:.3f} | {'' if one.clm_loss is None else f'{one.clm_loss:.3f}'} | {pairs} |"
        )
    (arguments.out / "ladder.md").write_text("\n".join([*rows, "", *summary(runs)]) + "\n")


def summary(runs: list[Run]) -> list[str]:
    """Rows of the last rung so far: for each arm the median over its seeds, and their range."""
    last = [run for run in runs if run.tokens == max(each.tokens for each in runs)]
    reference = {run.seed: run for run in last if run.arm == runs[0].arm}
    rows = [
        "| arm | seeds | seconds | MLM accuracy | MLM loss | CLM loss | minimal pairs | speed-up | in tokens "
        "| in tokens, CLM loss |",
        "|" + " --- |" * 10,
    ]
    for name in dict.fromkeys(run.arm for run in last):
        of_arm = [run for run in last if run.arm == name]
        compared = [(run, reference[run.seed]) for run in of_arm if run.seed in reference]
        masked = [(run.curve, other.curve) for run, other in compared]
        causal = [(run.clm_curve, other.clm_curve) for run, other in compared if run.clm_curve and other.clm_curve]
        pairs = [run.pairs for run in of_arm if run.pairs is not None]
        cells = [
            median_and_range([run.seconds for run in of_arm], ".0f"),
            median_and_range([run.mlm_accuracy for run in of_arm], ".1%"),
            median_and_range([run.mlm_loss for run in of_arm], ".3f"),
            median_and_range([run.clm_loss for run in of_arm if run.clm_loss is not None], ".3f"),
            median_and_range(pairs, ".1%"),
            *(median_and_range([speed_up(*pair, column=column) for pair in masked], ".2f") for column in (0, 1)),
            median_and_range([speed_up(*pair, column=1) for pair in causal], ".2f"),
        ]
        rows.append(f"| {name} | {len(of_arm)} | " + " | ".join(cells) + " |")
    return rows


def median_and_range(values: list[float], form: str) -> str:
    """`median (smallest to largest)`; nothing without values."""
    if not values:
        return ""
    return f"{median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def _arguments() -> Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("arms", type=Path, metavar="ARMS.yaml")
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--suite", type=Path, help="directory of minimal pairs")
    parser.add_argument("--tokens", default="2M", help="of the first rung")
    parser.add_argument("--rungs", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=3, help="of the last rung")
    parser.add_argument("--metric", choices=LARGER_IS_BETTER, default="pairs")
    arguments = parser.parse_args()
    if arguments.metric == "pairs" and not arguments.suite:
        parser.error("--metric pairs needs --suite")
    return arguments


if __name__ == "__main__":
    main()
