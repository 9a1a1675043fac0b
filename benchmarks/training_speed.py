"""Training speed of litebert beside transformers: same machine, same run, same weights, same batches.

python benchmarks/training_speed.py [--device cpu|cuda] [--tiny] [--minutes M] [--out FILE.json]

Outputs are compared before anything is timed. The JSON, and the table beside it (FILE.md), are written again after each
figure, so that a run that is stopped loses nothing.
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
from typing import Any

import speed_contestants as who
import speed_timing as timing
import torch

from litebert.files import write_json, write_text
from litebert.model.config import ModelConfig
from litebert.model.counting import flops_per_token
from litebert.model.presets import preset
from litebert.runs.doctor import doctor
from litebert.training.throughput import peak_flops_of

SIZES = {  # presets, lengths, largest batch, size of the square matrices, seconds a figure
    "cuda": (("albert-base-v2", "albert-large-v2"), (128, 512), 4096, 8192, 2.0),
    "cpu": (("albert-base-v2",), (128,), 8, 1024, 4.0),
    "tiny": (("tiny",), (32,), 2, 64, 0.01),
}
FIRST_BATCH = 16
LOSS_TOLERANCE = 0.01
"""Relative difference of the first losses in bf16: nobody is timed who computes something else."""
TIME_IS_UP = "not measured: the time was up"


@dataclass(frozen=True)
class Setting:
    """What the contestants of one case have in common."""

    weights: Path
    config: ModelConfig
    device: torch.device
    length: int
    seconds: float
    """To spend on one figure."""


def main() -> int:
    arguments = _arguments()
    device = torch.device(arguments.device)
    presets, lengths, most, matrix, seconds = SIZES["tiny" if arguments.tiny else device.type]
    torch.backends.cuda.matmul.allow_tf32 = False  # the comparison of outputs is in plain fp32
    deadline = time.monotonic() + 60 * arguments.minutes
    report: dict[str, Any] = {"machine": machine(device), "cases": []}
    report["matmul_flops"] = timing.matmul_rate(device, size=matrix, seconds=seconds / 2)
    sizes = list(itertools.product(presets, lengths))
    for index, (name, length) in enumerate(sizes):
        case: dict[str, Any] = {"model": name, "length": length, "rows": []}
        report["cases"].append(case)
        now = time.monotonic()
        share = (deadline - now) / (len(sizes) - index)
        for _ in measured(case, device, most=most, seconds=seconds, deadline=now + share):
            add_shares(case, matmul_flops=report["matmul_flops"], peak=report["machine"]["peak_flops"])
            if arguments.out:
                write_json(arguments.out, report)
                write_text(arguments.out.with_suffix(".md"), table(report) + "\n")
    print(table(report))
    return int(any("failed" in case for case in report["cases"]))


def machine(device: torch.device) -> dict[str, Any]:
    """Where the figures come from."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else doctor().processor
    versions = {"torch": torch.__version__, "cuda": torch.version.cuda}
    if who.has_transformers():
        import transformers

        versions["transformers"] = transformers.__version__
    return {
        "device": name,
        "peak_flops": peak_flops_of(name),
        "threads": torch.get_num_threads(),
        "versions": versions,
    }


def measured(
    case: dict[str, Any], device: torch.device, *, most: int, seconds: float, deadline: float
) -> Iterator[None]:
    """Fill the case row by row, yielding after each; what fails is told in the case and does not stop the others."""
    # transformers drops in front of its sentence-order head, the original does not
    config = preset(case["model"]).replace(classifier_dropout_prob=0.0)
    flops = flops_per_token(config, length=case["length"], predicted=who.MASKED_FRACTION)
    case["flops_a_token"] = flops.training
    if time.monotonic() > deadline:
        case["note"] = TIME_IS_UP
    else:
        try:
            with tempfile.TemporaryDirectory() as directory:
                weights = who.save_weights(config, Path(directory) / "model")
                setting = Setting(weights, config, device, case["length"], seconds)
                compare(case, setting)
                yield from rows(case, setting, most=most, deadline=deadline)
        except Exception as error:
            case["failed"] = _sentence(error)
    yield


def rows(case: dict[str, Any], setting: Setting, *, most: int, deadline: float) -> Iterator[None]:
    """Add a row for each contestant, with its figures or the reason why there are none."""
    everyone = who.contestants(compiled=setting.device.type == "cuda")
    batch_size = _batch_size(everyone[0], setting, most=most)
    reference = None
    for contestant in everyone:
        row: dict[str, Any] = {"library": contestant.library, "variant": contestant.variant}
        case["rows"].append(row)
        row |= {"note": TIME_IS_UP} if time.monotonic() > deadline else _figures(contestant, setting, batch_size)
        if "first_loss" in row:
            reference = row["first_loss"] if reference is None else reference
            refuse_other_loss(row, reference)
        yield


def compare(case: dict[str, Any], setting: Setting) -> None:
    """Put the difference of the outputs into the case; raises ValueError where it is more than rounding."""
    if not who.has_transformers():
        case["note"] = "transformers is not installed: litebert alone"
        return
    sample = who.random_batch(setting.config, batch_size=2, length=setting.length, padded=True)
    case["output_difference"] = difference = who.output_difference(setting.weights, sample, setting.device)
    if not difference <= who.TOLERANCE:
        raise ValueError(f"outputs differ by {difference:.2g}, expected at most {who.TOLERANCE:.0e}: nothing is timed")


def refuse_other_loss(row: dict[str, Any], reference: float) -> None:
    """Take the speed out of a row whose loss is not that of the first contestant."""
    if not abs(row["first_loss"] - reference) <= LOSS_TOLERANCE * abs(reference):
        row.pop("tokens_per_second")
        row["note"] = f"refused: its loss is {row['first_loss']:.4f}, not {reference:.4f}"


def add_shares(case: dict[str, Any], *, matmul_flops: float, peak: float | None) -> None:
    """MFU against the data sheet, the share of the measured matrix rate, and the ratio of the best of each library."""
    for row in case["rows"]:
        if "tokens_per_second" in row:
            used = row["tokens_per_second"] * case["flops_a_token"]
            row["of_matmul_rate"] = used / matmul_flops
            row["mfu"] = used / peak if peak else None
    best = {
        library: max(
            (row.get("tokens_per_second", 0.0) for row in case["rows"] if row["library"] == library), default=0
        )
        for library in ("litebert", "transformers")
    }
    case["ratio"] = best["litebert"] / best["transformers"] if best["transformers"] else None


def table(report: dict[str, Any]) -> str:
    """The report for a person, in Markdown."""
    lines = [
        f"{report['machine']['device']}: matrix products in bf16 at {report['matmul_flops'] / 1e12:.3g} TFLOP/s",
        "",
        "| model | length | batch | library | tokens/s | sequences/s | MFU | of the matrix rate | peak GiB |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for case in report["cases"]:
        lines += [_line(case, row) for row in case["rows"]]
    for case in report["cases"]:
        lines += ["", f"{case['model']} at length {case['length']}: {_verdict(case)}"]
    return "\n".join(lines)


def _line(case: dict[str, Any], row: dict[str, Any]) -> str:
    who_ran = (
        f"| {case['model']} | {case['length']} | {row.get('batch_size', '')} | {row['library']}, {row['variant']} |"
    )
    if "tokens_per_second" not in row:
        return f"{who_ran} {row['note']} | | | | |"
    mfu = "" if row["mfu"] is None else f"{row['mfu']:.1%}"
    memory = "" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 2**30:.1f}"
    rates = f"{row['tokens_per_second']:,.0f} | {row['sequences_per_second']:,.1f}"
    return f"{who_ran} {rates} | {mfu} | {row['of_matmul_rate']:.1%} | {memory} |"


def _verdict(case: dict[str, Any]) -> str:
    parts = []
    if case.get("output_difference") is not None:
        parts.append(f"outputs agree to {case['output_difference']:.1e} (relative, fp32)")
    if case.get("ratio"):
        parts.append(f"best litebert / best transformers = {case['ratio']:.2f}")
    return "; ".join([*parts, *(case[name] for name in ("note", "failed") if name in case)])


def _batch_size(contestant: who.Contestant, setting: Setting, *, most: int) -> int:
    """The batch of all contestants: by doubling on a GPU, the largest allowed on a CPU."""
    if setting.device.type == "cpu":
        return most
    brief = replace(setting, seconds=0.0)
    return timing.doubled_while_worth_it(
        lambda batch_size: _timed(contestant, brief, batch_size).seconds_a_step, start=FIRST_BATCH, most=most
    )


def _figures(contestant: who.Contestant, setting: Setting, batch_size: int) -> dict[str, Any]:
    """The figures of one contestant; a batch that does not fit is halved, any other failure becomes a note."""
    while batch_size >= 1:
        try:
            timed = _timed(contestant, setting, batch_size)
        except torch.cuda.OutOfMemoryError:
            batch_size //= 2
        except Exception as error:  # whatever a compiler or a kernel refuses must not lose the other figures
            return {"note": f"failed: {_sentence(error)}"}
        else:
            sequences = batch_size / timed.seconds_a_step
            rates = {"sequences_per_second": sequences, "tokens_per_second": sequences * setting.length}
            return {"batch_size": batch_size, **rates, **vars(timed)}
        finally:
            gc.collect()
            torch.compiler.reset()
            torch.cuda.empty_cache()
    return {"note": "failed: not even one sequence fits into memory"}


def _timed(contestant: who.Contestant, setting: Setting, batch_size: int) -> timing.Timing:
    batch = who.random_batch(setting.config, batch_size=batch_size, length=setting.length).to(setting.device)
    model = contestant.load(setting.weights)
    return timing.train_steps(
        model, lambda module: contestant.loss(module, batch), setting.device, seconds=setting.seconds
    )


def _sentence(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--tiny", action="store_true", help="toy sizes: does it run at all?")
    parser.add_argument("--minutes", type=float, default=5.0, help="begin nothing new after these")
    parser.add_argument("--out", type=Path, help="JSON to write")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
