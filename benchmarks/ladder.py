"""Compares variants of a pretraining recipe: each runs for a few tokens, the better half for twice as many, and so on.

    python benchmarks/ladder.py ARMS.yaml --corpus CORPUS --out DIR --suite BLIMP [--tokens 2M --rungs 3 --seeds 3]
        [--jobs N]

ARMS.yaml holds `recipe: NAME`, `settings: [key=value, …]` of all arms, and `arms: {name: [key=value, …]}`, in which
each arm differs from that; the first arm is the reference. `trial=NAME` patches the run (arms/trials.py); `cost=1.5`
says that a token of this arm takes 1.5 times as long as one of the reference, so that it gets as many fewer tokens and
all arms take equal time. Each run of a rung is trained from the beginning, because its learning rate falls to zero at
the end of the rung. The last rung is run with every seed. A rung ranks its arms by `--metric`: the accuracy on minimal
pairs, by next tokens if the arm has causal steps and otherwise by pseudo-log-likelihood, or the MLM loss on validation
text. Each run is a run directory, so a ladder that was stopped continues; `ladder.json` and `ladder.md` are written
after each run. Arms of equal tokens may differ in time: the seconds of a run's steps are in the table.

With `--jobs N`, N runs of a rung are trained at once, each in a process of its own with an equal share of the threads
(one each with OMP_NUM_THREADS=1), which logs to `DIR/logs`. The first that fails stops the others, with their state
saved. Seconds are then those of a machine with N runs. The arms should have a `train.precision` that is not `auto`:
measured beside other runs, it may differ between arms.

A second table has medians and ranges over the seeds of the last rung, and the speed-up: how many times faster than the
reference an arm reaches the MLM loss that both reach, by the evaluations of its run (`train.evaluate_every`), in
seconds and in tokens, and in tokens for the CLM loss. It compares like with like only for arms that predict masked
tokens in an equal share of their steps; the seconds are those of a quiet machine only if it is one.
"""

import argparse
import json
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median

from arms.arm_run import Curve, Job, Run, finished_run, run_job, settings_of

from litebert.commands.evaluate.minimal_pairs import read_minimal_pairs
from litebert.commands.worker_processes import Worker, run_workers
from litebert.errors import ConfigError, LitebertError
from litebert.logs import log_to_stderr
from litebert.machine import validate_processes
from litebert.settings import read_yaml
from litebert.training.callbacks.progress_display import LogDisplay
from litebert.training.callbacks.stop_with_parent import StopWithParent
from litebert.training.loop.duration import Duration

JOB = "--one-job"
"""First argument of the processes that `--jobs` starts."""
LARGER_IS_BETTER = {"pairs": True, "mlm_accuracy": True, "mlm_loss": False}


def main() -> None:
    """Run all rungs, or continue where they stopped; in a process that `--jobs` started, one run."""
    try:
        if sys.argv[1:2] == [JOB]:
            run_in_process(sys.argv[2])
        else:
            run_ladder(_arguments())
    except LitebertError as error:
        sys.exit(f"ladder.py: {error}")


def run_ladder(arguments: Namespace) -> None:
    """Run every arm of every rung; LitebertError for a wrong arm or suite before anything is trained."""
    validate_processes(arguments.jobs, where="--jobs")
    file = read_yaml(arguments.arms)
    arms = {name: [*file.get("settings", []), *changes] for name, changes in file["arms"].items()}
    for name in arms:
        try:
            settings_of(file["recipe"], name, arms[name], corpus=arguments.corpus)
        except ConfigError as error:
            raise ConfigError(f"{arguments.arms}: {error}") from None
    if arguments.suite:
        read_minimal_pairs(arguments.suite)
    reference = next(iter(arms))
    jobs: list[Job] = []
    finished: dict[Job, Run] = {}

    def finish(job: Job, result: Run) -> None:
        finished[job] = result
        write_table([finished[each] for each in jobs if each in finished], arguments, reference=reference)

    places = {"ladder": arguments.out, "corpus": arguments.corpus, "suite": arguments.suite}
    for rung in range(arguments.rungs):
        tokens = int(Duration.parse(f"{arguments.tokens} tokens").amount) * 2**rung
        seeds = arguments.seeds if rung == arguments.rungs - 1 else 1
        of_rung = [
            Job(recipe=file["recipe"], arm=name, overrides=tuple(arms[name]), tokens=tokens, seed=seed, **places)
            for seed in range(seeds)
            for name in arms
        ]
        jobs += of_rung
        run_jobs(of_rung, finish, at_once=arguments.jobs)
        kept = better_half(arms, [*finished.values()], tokens=tokens, metric=arguments.metric, reference=reference)
        arms = {name: arms[name] for name in kept}


def run_jobs(jobs: Sequence[Job], finish: Callable[[Job, Run], None], *, at_once: int) -> None:
    """Run jobs, and call `finish` with the scores of each, also of one that was finished before.

    One after the other in this process, or several at once in processes of their own.
    """
    if at_once > 1:
        run_in_parallel(jobs, finish, at_once=at_once)
        return
    for job in jobs:
        finish(job, run_job(job))


def run_in_parallel(jobs: Sequence[Job], finish: Callable[[Job, Run], None], *, at_once: int) -> None:
    """LitebertError for the first job that fails, once the others have saved their state and ended."""
    waiting = []
    for job in jobs:
        if result := finished_run(job):
            finish(job, result)
        else:
            waiting.append(job)

    def worker(job: Job) -> Worker:
        return Worker(job.name, (__file__, JOB, json.dumps(job.to_dict())), job.log)

    def ended(job: Job, code: int) -> bool:
        result = finished_run(job) if code == 0 else None
        if result is None:
            raise LitebertError(
                f"{job.out}: its process ended with code {code}; see {job.log}. The other runs were stopped and have "
                "saved their state; the same command resumes them"
            )
        finish(job, result)
        return True

    message = f"{jobs[0].ladder}: stopped; every run has saved its state, the same command resumes them"
    run_workers(waiting, worker, ended, jobs=at_once, stopped=message)


def run_in_process(values: str) -> None:
    """Run the job whose values are JSON; it stops, with its state saved, when the process that started it has ended."""
    log_to_stderr()
    run_job(Job.parse(json.loads(values), where=JOB), callbacks=[LogDisplay(), StopWithParent()])


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


def better_half(arms: dict[str, list[str]], runs: list[Run], *, tokens: int, metric: str, reference: str) -> list[str]:
    """Names of the arms that go on, in their order: half of them, rounded up, by the median over the seeds.

    The reference always goes on.
    """
    values = {
        name: median(getattr(run, metric) for run in runs if (run.arm, run.tokens) == (name, tokens)) for name in arms
    }
    ranked = sorted(values, key=lambda name: values[name], reverse=LARGER_IS_BETTER[metric])
    kept = ranked[: -(-len(ranked) // 2)]
    return [name for name in arms if name in kept or name == reference]


def write_table(runs: list[Run], arguments: Namespace, *, reference: str) -> None:
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
    (arguments.out / "ladder.md").write_text("\n".join([*rows, "", *summary(runs, reference)]) + "\n")


def summary(runs: list[Run], reference: str) -> list[str]:
    """Rows of the last rung so far: for each arm the median over its seeds, and their range, beside the reference."""
    last = [run for run in runs if run.tokens == max(each.tokens for each in runs)]
    references = {run.seed: run for run in last if run.arm == reference}
    rows = [
        "| arm | seeds | seconds | MLM accuracy | MLM loss | CLM loss | minimal pairs | speed-up | in tokens "
        "| in tokens, CLM loss |",
        "|" + " --- |" * 10,
    ]
    for name in dict.fromkeys(run.arm for run in last):
        of_arm = [run for run in last if run.arm == name]
        compared = [(run, references[run.seed]) for run in of_arm if run.seed in references]
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
    parser.add_argument("--jobs", type=int, default=1, help="runs of a rung at the same time")
    parser.add_argument("--metric", choices=LARGER_IS_BETTER, default="pairs")
    arguments = parser.parse_args()
    if arguments.metric == "pairs" and not arguments.suite:
        parser.error("--metric pairs needs --suite")
    return arguments


if __name__ == "__main__":
    main()
