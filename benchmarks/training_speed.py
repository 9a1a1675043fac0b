"""Training speed of litebert and transformers on the same machine, with the same weights and batches.

python benchmarks/training_speed.py [--device cpu|cuda] [--threads N] [--case NAME] [--out FILE.json] …

Training is in bf16, on processors without its instructions in fp32. Outputs are compared before anything is timed. On a
CPU the contestants take turns, several times, and the fastest turn of each counts: other processes make a turn slower,
nothing makes it faster. The JSON, and the table beside it (FILE.md), are written again after each figure, so that a run
that is stopped loses nothing.
"""

import argparse
import gc
import itertools
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from libraries import speed_contestants as who
from measurement import step_times as timing
from measurement.speed_report import OUT_OF_TIME, Case, Figures, Machine, Report, Row

from litebert.corpus.sampling.pretrain_batches import PretrainBatch
from litebert.files import write_json, write_text
from litebert.machine import package_version, processor_name
from litebert.model.config import ModelConfig
from litebert.model.model_stats import flops_per_token
from litebert.model.presets import preset
from litebert.training.loop.throughput import peak_flops_of


@dataclass(frozen=True)
class Kind:
    """Rows that the models train on."""

    rows: str
    """Which lengths they have: a name in `who.ROWS`."""
    length: int
    most: int
    """Rows of a batch; on a GPU at most so many."""

    @property
    def name(self) -> str:
        """As `--case` takes it."""
        return f"{self.rows}-{self.length}"


@dataclass(frozen=True)
class Plan:
    """What is measured on one kind of device."""

    presets: tuple[str, ...]
    kinds: tuple[Kind, ...]
    matrix: int
    """Size of the square matrices whose product is the peak."""
    seconds: float
    """To spend on one figure."""
    turns: int
    """Of each contestant."""


PLANS = {
    "cuda": Plan(
        presets=("albert-base-v2", "albert-large-v2"),
        kinds=(Kind("full", 128, most=4096), Kind("full", 512, most=4096)),
        matrix=8192,
        seconds=2.0,
        turns=1,
    ),
    "cpu": Plan(
        presets=("albert-base-v2",),
        kinds=(Kind("full", 128, most=16), Kind("full", 512, most=4), Kind("mixed", 512, most=32)),
        matrix=1024,
        seconds=4.0,
        turns=3,
    ),
    "tiny": Plan(presets=("tiny",), kinds=(Kind("mixed", 32, most=2),), matrix=64, seconds=0.01, turns=2),
}
FIRST_BATCH = 16
LOSS_TOLERANCE = 0.01
"""Largest relative difference of the first losses, which bf16 needs; a variant that differs more is not timed."""


@dataclass(frozen=True)
class Setting:
    """What the contestants of one case have in common."""

    weights: Path
    config: ModelConfig
    device: torch.device
    kind: Kind
    compiled: bool
    seconds: float
    """To spend on one figure."""
    turns: int
    deadline: float
    """By `time.monotonic`; nothing begins after it."""

    def batch(self, batch_size: int) -> PretrainBatch:
        """The batch that all contestants train on."""
        lengths = who.ROWS[self.kind.rows](batch_size=batch_size, length=self.kind.length)
        return who.random_batch(self.config, lengths).to(self.device)


def main() -> int:
    """Measure all cases; the exit code is 1 if one failed."""
    arguments = _arguments()
    device = torch.device(arguments.device)
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    torch.backends.cuda.matmul.allow_tf32 = False  # the comparison of outputs is in plain fp32
    plan = PLANS["tiny" if arguments.tiny else device.type]
    deadline = time.monotonic() + 60 * arguments.minutes
    report = empty_report(device, plan)
    sizes = [size for size in itertools.product(plan.presets, plan.kinds) if arguments.case in (None, size[1].name)]
    if not sizes:
        raise SystemExit(f"--case: expected one of {', '.join(kind.name for kind in plan.kinds)}")
    for index, (name, kind) in enumerate(sizes):
        report.cases.append(case := Case(name, kind.rows, kind.length))
        now = time.monotonic()
        share = now + (deadline - now) / (len(sizes) - index)
        compiled = arguments.compile or device.type == "cuda"
        for _ in measured(case, kind, plan=plan, device=device, compiled=compiled, deadline=share):
            if arguments.out:
                write_json(arguments.out, report.to_dict())
                write_text(arguments.out.with_suffix(".md"), report.to_text() + "\n")
    print(report.to_text())
    return int(any(case.failed for case in report.cases))


def empty_report(device: torch.device, plan: Plan) -> Report:
    """The machine and the rate of its matrix products, without cases."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else processor_name()
    versions = {"torch": torch.__version__, "cuda": torch.version.cuda}
    if who.has_transformers():
        versions["transformers"] = package_version("transformers")
    precision, dtype = ("bf16", torch.bfloat16) if who.in_bf16(device) else ("fp32", torch.float32)
    fastest = device.type == "cpu"  # as the steps are timed
    rate = timing.matmul_rate(device, size=plan.matrix, seconds=plan.seconds / 2, dtype=dtype, fastest=fastest)
    return Report(Machine(name, peak_flops_of(name), torch.get_num_threads(), versions), precision, rate)


def measured(
    case: Case, kind: Kind, *, plan: Plan, device: torch.device, compiled: bool, deadline: float
) -> Iterator[None]:
    """Fill the case row by row, yielding after each; a failure is recorded in the case and does not stop the others."""
    # transformers applies dropout before its SOP head, google-research/albert does not
    config = preset(case.model).replace(classifier_dropout_prob=0.0)
    if time.monotonic() > deadline:
        case.note = OUT_OF_TIME
    else:
        try:
            with tempfile.TemporaryDirectory() as directory:
                weights = who.save_weights(config, Path(directory) / "model")
                setting = Setting(
                    weights,
                    config,
                    device=device,
                    kind=kind,
                    compiled=compiled,
                    seconds=plan.seconds,
                    turns=plan.turns,
                    deadline=deadline,
                )
                compare(case, setting)
                yield from measure_rows(case, setting)
        except Exception as error:
            case.failed = _sentence(error)
    yield


def compare(case: Case, setting: Setting) -> None:
    """Put the difference of the outputs into the case; raises ValueError where it is more than rounding."""
    if not who.has_transformers():
        case.note = "transformers is not installed: litebert alone"
        return
    length = setting.kind.length
    sample = who.random_batch(setting.config, [length, length // 2])
    case.output_difference = difference = who.output_difference(setting.weights, sample, setting.device)
    if not difference <= who.TOLERANCE:
        raise ValueError(f"outputs differ by {difference:.2g}, expected at most {who.TOLERANCE:.0e}: nothing is timed")


def measure_rows(case: Case, setting: Setting) -> Iterator[None]:
    """Add a row for each contestant, then measure them in turns, yielding after each."""
    everyone = who.contestants(setting.device, compiled=setting.compiled)
    batch_size = _batch_size(everyone[0], setting)
    case.rows = [Row(one.library, one.variant) for one in everyone]
    for _ in range(setting.turns):
        for contestant, row in zip(everyone, case.rows, strict=True):
            if time.monotonic() > setting.deadline or row.error:
                continue
            measure_turn(row, contestant, setting, batch_size=batch_size)
            refuse_other_loss(row, case.rows[0])
            yield


def measure_turn(row: Row, contestant: who.Contestant, setting: Setting, *, batch_size: int) -> None:
    """Add a turn to a row; a batch that does not fit is halved, any other failure becomes the error of the row."""
    while batch_size >= 1:
        try:
            timed = _timed(contestant, setting, batch_size)
        except torch.cuda.OutOfMemoryError:
            batch_size //= 2
        except Exception as error:  # whatever a compiler or a kernel refuses must not lose the other figures
            row.error = f"failed: {_sentence(error)}"
            return
        else:
            batch = setting.batch(batch_size)
            row.turns.append(Figures(batch_size, batch.num_tokens, _flops_a_token(setting.config, batch), timed))
            return
        finally:
            gc.collect()
            torch.compiler.reset()
            torch.cuda.empty_cache()
    row.error = "failed: not even one sequence fits into memory"


def refuse_other_loss(row: Row, first: Row) -> None:
    """Make it the error of a row that its loss is not that of the first contestant."""
    if not row.turns or not first.turns:
        return
    loss, reference = row.turns[-1].timing.first_loss, first.turns[0].timing.first_loss
    if not abs(loss - reference) <= LOSS_TOLERANCE * abs(reference):
        row.error = f"refused: its loss is {loss:.4f}, not {reference:.4f}"


def _batch_size(contestant: who.Contestant, setting: Setting) -> int:
    """The batch of all contestants: by doubling on a GPU, the largest allowed on a CPU."""
    if setting.device.type == "cpu":
        return setting.kind.most
    brief = replace(setting, seconds=0.0)
    return timing.doubled_while_worth_it(
        lambda batch_size: _timed(contestant, brief, batch_size).seconds_a_step,
        start=FIRST_BATCH,
        most=setting.kind.most,
    )


def _timed(contestant: who.Contestant, setting: Setting, batch_size: int) -> timing.Timing:
    batch = setting.batch(batch_size)
    return timing.train_steps(
        lambda: contestant.load(setting.weights),
        lambda module: contestant.loss(module, batch),
        setting.device,
        seconds=setting.seconds,
        bf16=contestant.bf16,
    )


def _flops_a_token(config: ModelConfig, batch: PretrainBatch) -> float:
    """Operations of a training step that the real tokens of a batch need, by the mean of their rows' lengths."""
    lengths = batch.attention_mask.sum(1).tolist()
    predicted = len(batch.masked_positions) / batch.num_tokens
    total = sum(length * flops_per_token(config, length=length, predicted=predicted).training for length in lengths)
    return total / batch.num_tokens


def _sentence(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--threads", type=int, help="of the CPU (all)")
    parser.add_argument("--compile", action="store_true", help="compile on a CPU too, which takes a C++ compiler")
    parser.add_argument("--case", help="one of the cases only, such as full-128 or mixed-512")
    parser.add_argument("--tiny", action="store_true", help="toy sizes: does it run at all?")
    parser.add_argument("--minutes", type=float, default=5.0, help="begin nothing new after these")
    parser.add_argument("--out", type=Path, help="JSON to write")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
