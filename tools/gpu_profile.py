"""Where the time of training steps goes. Part of `gpu_check.py`, and a command of its own.

python tools/gpu_profile.py --out DIR [--recipes night gpu-hour] [--corpus DIR] [--device cuda|cpu] [--steps 60]
    [--tiny] [setting=value …]

It trains each recipe from random weights for some steps and writes `profile.json` and `profile.md`: duration of a step,
how much of it the GPU is busy, and the operations that take most time of the processor and of the GPU. The text is a
corpus directory, by default the documentation on the machine. Needs a GPU to tell more than durations.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from gpu_training import TINY_CORPUS, TINY_SETTINGS, WHOLE_CORPUS, documentation_corpus
from torch.profiler import ProfilerActivity, profile

from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.pretrain.pretrain_settings import load_pretrain_config
from litebert.files import write_json, write_text
from litebert.logs import log_to_stderr
from litebert.training.callbacks.callback import Callback, RunState, StepRecord

RECIPES = ("night", "gpu-hour")
SETTINGS = ("init=random", "max_eval_examples=64")
PROFILED_STEPS = 4
"""At the end of the run; a profiled step is slower, so that its duration is not counted."""
OPERATIONS = 12


class StepProfiler(Callback):
    """Times every step of a run and profiles the last ones."""

    def __init__(self, steps: int) -> None:
        self._first_profiled = steps - PROFILED_STEPS
        self._ends: list[float] = []
        self._tokens: list[float] = []
        self._profile = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])

    def on_step(self, run: RunState, record: StepRecord) -> None:
        """Begin the profile after the last step that is timed, and end it after the last step."""
        if record.step <= self._first_profiled:
            self._tokens.append(run.progress.tokens - sum(self._tokens))
            self._ends.append(time.perf_counter())
        if record.step == self._first_profiled:
            self._profile.start()
        if record.step == self._first_profiled + PROFILED_STEPS:
            self._profile.stop()

    def report(self) -> dict[str, Any]:
        """Medians of the second half of the timed steps, and the operations of the profiled ones, a step."""
        half = len(self._ends) // 2
        whole = [end - start for start, end in zip(self._ends[half - 1 :], self._ends[half:], strict=False)]
        averages = self._profile.key_averages()
        kernels = [each for each in averages if each.device_type.name == "CUDA" and not each.is_user_annotation]
        on_device = sum(kernel.self_device_time_total for kernel in kernels)
        return {
            "tokens_per_second": statistics.mean(self._tokens[half:]) / statistics.mean(whole),
            "seconds_a_step": statistics.median(whole),
            "device_seconds_a_step": on_device / 1e6 / PROFILED_STEPS or None,
            "operations_by_host_time": _most(averages, "self_cpu_time_total"),
            "operations_by_device_time": _most(kernels, "self_device_time_total"),
        }


def main() -> None:
    arguments = _arguments()
    log_to_stderr()
    report = {}
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        corpus = arguments.corpus or documentation_corpus(work, **(TINY_CORPUS if arguments.tiny else WHOLE_CORPUS))
        steps = 2 * PROFILED_STEPS if arguments.tiny else arguments.steps
        fixed = (f"train.duration={steps} steps", f"train.device={arguments.device}", *SETTINGS)
        for recipe in arguments.recipes:
            settings = (*(TINY_SETTINGS if arguments.tiny else ()), *arguments.settings, *fixed)
            profiler = StepProfiler(steps)
            run = load_pretrain_config(recipe, settings, corpus=corpus)
            pretrain(run, work / recipe, callbacks=[profiler])
            report[recipe] = profiler.report()
            write_json(arguments.out / "profile.json", report)  # of the recipes so far, in case that it is stopped
            write_text(arguments.out / "profile.md", table(report) + "\n")
    print(table(report))


def table(report: dict[str, Any]) -> str:
    """The report for a person, in Markdown."""
    lines = ["| recipe | tokens/s | ms a step | of them GPU busy |", "| --- | --- | --- | --- |"]
    for recipe, row in report.items():
        device = f"{1e3 * row['device_seconds_a_step']:.1f}" if row["device_seconds_a_step"] else ""
        lines.append(f"| {recipe} | {row['tokens_per_second']:,.0f} | {1e3 * row['seconds_a_step']:.1f} | {device} |")
    return "\n".join(lines)


def _most(averages: Any, key: str) -> list[dict[str, Any]]:
    """The operations with most time: name, milliseconds a step, calls a step."""
    ranked = sorted(averages, key=lambda average: getattr(average, key), reverse=True)[:OPERATIONS]
    return [
        {
            "name": average.key,
            "milliseconds": getattr(average, key) / 1e3 / PROFILED_STEPS,
            "calls": average.count / PROFILED_STEPS,
        }
        for average in ranked
    ]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", nargs="*", help="settings of the recipes to change, such as microbatch_size=32")
    parser.add_argument("--out", type=Path, required=True, help="directory to write to")
    parser.add_argument("--recipes", nargs="+", default=RECIPES)
    parser.add_argument("--corpus", type=Path, help="corpus directory; default: the documentation on this machine")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--steps", type=int, default=60, help="of which the last ones are profiled")
    parser.add_argument("--tiny", action="store_true", help="toy sizes, as a smoke test")
    arguments = parser.parse_args()
    if arguments.steps < 2 * PROFILED_STEPS:
        parser.error(f"--steps: {arguments.steps}; expected at least {2 * PROFILED_STEPS}")
    return arguments


if __name__ == "__main__":
    main()
