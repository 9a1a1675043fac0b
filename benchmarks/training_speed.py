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
from typing import Any

import torch
from libraries import speed_contestants as who
from measurement import step_times as timing

from litebert.corpus.sampling.pretrain_batches import PretrainBatch
from litebert.files import write_json, write_text
from litebert.machine import processor_name
from litebert.model.config import ModelConfig
from litebert.model.model_stats import flops_per_token
from litebert.model.presets import preset
from litebert.training.loop.throughput import peak_flops_of

CASES = {  # presets; kinds of rows, their length and how many (at most, on a GPU); square matrices; seconds a figure
    "cuda": (("albert-base-v2", "albert-large-v2"), (("full", 128, 4096), ("full", 512, 4096)), 8192, 2.0),
    "cpu": (("albert-base-v2",), (("full", 128, 16), ("full", 512, 4), ("mixed", 512, 32)), 1024, 4.0),
    "tiny": (("tiny",), (("mixed", 32, 2),), 64, 0.01),
}
TURNS = {"cuda": 1, "cpu": 3}
FIRST_BATCH = 16
LOSS_TOLERANCE = 0.01
"""Largest relative difference of the first losses, which bf16 needs; a variant that differs more is not timed."""
OUT_OF_TIME = "not measured: out of time"


@dataclass(frozen=True)
class Setting:
    """What the contestants of one case have in common."""

    weights: Path
    config: ModelConfig
    device: torch.device
    rows: str
    """Which lengths the rows have: a name in `who.ROWS`."""
    length: int
    compiled: bool
    seconds: float
    """To spend on one figure."""

    def batch(self, batch_size: int) -> PretrainBatch:
        """The batch that all contestants train on."""
        lengths = who.ROWS[self.rows](batch_size=batch_size, length=self.length)
        return who.random_batch(self.config, lengths).to(self.device)


def main() -> int:
    arguments = _arguments()
    device = torch.device(arguments.device)
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    presets, kinds, matrix, seconds = CASES["tiny" if arguments.tiny else device.type]
    torch.backends.cuda.matmul.allow_tf32 = False  # the comparison of outputs is in plain fp32
    deadline = time.monotonic() + 60 * arguments.minutes
    report: dict[str, Any] = {"machine": machine(device), "cases": []}
    report["precision"], dtype = ("bf16", torch.bfloat16) if who.in_bf16(device) else ("fp32", torch.float32)
    fastest = device.type == "cpu"  # as the steps are timed
    report["matmul_flops"] = timing.matmul_rate(device, size=matrix, seconds=seconds / 2, dtype=dtype, fastest=fastest)
    sizes = [
        size for size in itertools.product(presets, kinds) if arguments.case in (None, f"{size[1][0]}-{size[1][1]}")
    ]
    if not sizes:
        raise SystemExit(f"--case: expected one of {', '.join(f'{kind[0]}-{kind[1]}' for kind in kinds)}")
    for index, (name, (rows, length, most)) in enumerate(sizes):
        case: dict[str, Any] = {"model": name, "kind": rows, "length": length, "rows": []}
        report["cases"].append(case)
        now = time.monotonic()
        share = (deadline - now) / (len(sizes) - index)
        compiled = arguments.compile or device.type == "cuda"
        for _ in measured(case, device, most=most, seconds=seconds, compiled=compiled, deadline=now + share):
            add_shares(case, matmul_flops=report["matmul_flops"], peak=report["machine"]["peak_flops"])
            if arguments.out:
                write_json(arguments.out, report)
                write_text(arguments.out.with_suffix(".md"), table(report) + "\n")
    print(table(report))
    return int(any("failed" in case for case in report["cases"]))


def machine(device: torch.device) -> dict[str, Any]:
    """The machine on which the results were measured."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else processor_name()
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
    case: dict[str, Any], device: torch.device, *, most: int, seconds: float, compiled: bool, deadline: float
) -> Iterator[None]:
    """Fill the case row by row, yielding after each; a failure is recorded in the case and does not stop the others."""
    # transformers applies dropout before its SOP head, google-research/albert does not
    config = preset(case["model"]).replace(classifier_dropout_prob=0.0)
    if time.monotonic() > deadline:
        case["note"] = OUT_OF_TIME
    else:
        try:
            with tempfile.TemporaryDirectory() as directory:
                weights = who.save_weights(config, Path(directory) / "model")
                setting = Setting(weights, config, device, case["kind"], case["length"], compiled, seconds)
                compare(case, setting)
                yield from rows(case, setting, most=most, deadline=deadline)
        except Exception as error:
            case["failed"] = _sentence(error)
    yield


def rows(case: dict[str, Any], setting: Setting, *, most: int, deadline: float) -> Iterator[None]:
    """Add a row for each contestant, with its figures or the reason why there are none; then measure it in turns."""
    everyone = who.contestants(setting.device, compiled=setting.compiled)
    batch_size = _batch_size(everyone[0], setting, most=most)
    case["rows"] = [{"library": one.library, "variant": one.variant, "note": OUT_OF_TIME} for one in everyone]
    for _ in range(TURNS[setting.device.type]):
        for contestant, row in zip(everyone, case["rows"], strict=True):
            if time.monotonic() > deadline or row["note"] not in ("", OUT_OF_TIME):
                continue
            figures = {"note": "", **_figures(contestant, setting, batch_size)}
            if figures.get("seconds_a_step", 0.0) < row.get("seconds_a_step", float("inf")):
                row |= figures
            refuse_other_loss(row, case["rows"][0].get("first_loss"))
            yield


def compare(case: dict[str, Any], setting: Setting) -> None:
    """Put the difference of the outputs into the case; raises ValueError where it is more than rounding."""
    if not who.has_transformers():
        case["note"] = "transformers is not installed: litebert alone"
        return
    sample = who.random_batch(setting.config, [setting.length, setting.length // 2])
    case["output_difference"] = difference = who.output_difference(setting.weights, sample, setting.device)
    if not difference <= who.TOLERANCE:
        raise ValueError(f"outputs differ by {difference:.2g}, expected at most {who.TOLERANCE:.0e}: nothing is timed")


def refuse_other_loss(row: dict[str, Any], reference: float | None) -> None:
    """Take the speed out of a row whose loss is not that of the first contestant."""
    if reference is None or "first_loss" not in row:
        return
    if not abs(row["first_loss"] - reference) <= LOSS_TOLERANCE * abs(reference):
        row.pop("tokens_per_second", None)
        row["note"] = f"refused: its loss is {row['first_loss']:.4f}, not {reference:.4f}"


def add_shares(case: dict[str, Any], *, matmul_flops: float, peak: float | None) -> None:
    """MFU against the data sheet, the share of the measured matmul throughput, and the ratios of litebert's best."""
    for row in case["rows"]:
        if "tokens_per_second" in row:
            used = row["tokens_per_second"] * row["flops_a_token"]
            row["of_matmul_rate"] = used / matmul_flops
            row["mfu"] = used / peak if peak else None
    ours = _best(case, "litebert")
    theirs = _best(case, "transformers", but="fp32")
    plain = _best(case, "transformers", only="fp32")
    case["ratio"] = ours["tokens_per_second"] / theirs["tokens_per_second"] if ours and theirs else None
    case["ratio_to_fp32"] = ours["tokens_per_second"] / plain["tokens_per_second"] if ours and plain else None
    known = ours and theirs and ours["peak_bytes"] and theirs["peak_bytes"]
    case["memory_ratio"] = ours["peak_bytes"] / theirs["peak_bytes"] if known else None


def _best(case: dict[str, Any], library: str, *, only: str = "", but: str = "no variant") -> dict[str, Any] | None:
    """The fastest row of a library."""
    rows = [row for row in case["rows"] if row["library"] == library and "tokens_per_second" in row]
    rows = [row for row in rows if row["variant"].startswith(only) and row["variant"] != but]
    return max(rows, key=lambda row: row["tokens_per_second"], default=None)


def table(report: dict[str, Any]) -> str:
    """The report for a person, in Markdown."""
    lines = [
        f"{report['machine']['device']}: matrix products in {report['precision']} at "
        f"{report['matmul_flops'] / 1e12:.3g} TFLOP/s",
        "",
        "| model | rows | batch | library | tokens/s | sequences/s | MFU | of measured matmul throughput | peak GiB |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for case in report["cases"]:
        lines += [_line(case, row) for row in case["rows"]]
    for case in report["cases"]:
        lines += ["", f"{case['model']}, {case['kind']} rows of {case['length']}: {_verdict(case)}"]
    return "\n".join(lines)


def _line(case: dict[str, Any], row: dict[str, Any]) -> str:
    who_ran = (
        f"| {case['model']} | {case['kind']}, {case['length']} | {row.get('batch_size', '')} | "
        f"{row['library']}, {row['variant']} |"
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
    if case.get("ratio_to_fp32"):
        parts.append(f"/ transformers in fp32 = {case['ratio_to_fp32']:.2f}")
    if case.get("memory_ratio"):
        parts.append(f"peak memory = {case['memory_ratio']:.2f} of theirs")
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
            batch = setting.batch(batch_size)
            rates = {
                "sequences_per_second": batch_size / timed.seconds_a_step,
                "tokens_per_second": batch.num_tokens / timed.seconds_a_step,
                "flops_a_token": _flops_a_token(setting.config, batch),
            }
            return {"batch_size": batch_size, **rates, **vars(timed)}
        finally:
            gc.collect()
            torch.compiler.reset()
            torch.cuda.empty_cache()
    return {"note": "failed: not even one sequence fits into memory"}


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
    parser.add_argument("--threads", type=int, help="of the CPU; all unless said otherwise")
    parser.add_argument("--compile", action="store_true", help="compile on a CPU too, which takes a C++ compiler")
    parser.add_argument("--case", help="one of the cases only, such as full-128 or mixed-512")
    parser.add_argument("--tiny", action="store_true", help="toy sizes: does it run at all?")
    parser.add_argument("--minutes", type=float, default=5.0, help="begin nothing new after these")
    parser.add_argument("--out", type=Path, help="JSON to write")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
