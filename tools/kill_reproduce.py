"""Kills `litebert reproduce` and its workers at random times, and compares its report with an undisturbed one.

Usage: python tools/kill_reproduce.py CORPUS DATA OUT [--kills 5] [--seed 0]
CORPUS is a corpus directory and DATA holds CoLA. A worker and later its scheduler get SIGKILL, `--kills` times; then
the same command starts again at once, while other workers may still run. Prints one JSON object; the exit code is 1 if
anything differs: the report, the results apart from speeds, the weights, the logged steps.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, Final

import yaml

MODEL: Final = {"model.num_hidden_layers": 1, "model.hidden_size": 32, "model.num_attention_heads": 2}
SCALE: Final = {
    "about": "Small models for tests of interruptions.",
    "recipe": "tiny",
    "settings": {
        "init": "random",
        "max_eval_examples": 64,
        "train.duration": "300 steps",
        "train.evaluate_every": "100 steps",
        "train.checkpoint_every": "20 steps",
        "train.precision": "fp32",
    },
    "models": {"small": {**MODEL, "model.intermediate_size": 64, "model.embedding_size": 16}},
    "tasks": {"cola": {"train.duration": "100 steps", "train.checkpoint_every": "20 steps"}},
    "finetune": {"max_length": 32, "train.warmup": 0.1, "train.precision": "fp32"},
    "seeds": 2,
}
TABLE: Final = {
    "title": "Depth",
    "measures": ["mlm_accuracy", "mlm_loss"],
    "rows": [
        {"name": "1 layer", "model": "small"},
        {"name": "2 layers", "model": "small", "set": {"model.num_hidden_layers": 2}, "start_from": "1 layer"},
        {"name": "both", "ensemble_of": ["1 layer", "2 layers"]},
    ],
}
JOBS: Final = 2


def main() -> int:
    """Run undisturbed, run with kills, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("corpus", "data", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    command = reproduce_command(arguments.corpus, arguments.data, out=arguments.out)
    undisturbed, killed = arguments.out / "undisturbed", arguments.out / "killed"
    subprocess.run([*command, str(undisturbed)], stdout=sys.stderr, check=True)
    records = [json.loads(file.read_bytes()) for file in (undisturbed / "cells").iterdir()]
    seconds = sum(record["seconds"] for record in records) / JOBS
    random = Random(arguments.seed)
    kills = run_with_kills([*command, str(killed)], kills=arguments.kills, random=random, seconds=seconds)
    found = differences(undisturbed, killed)
    print(json.dumps({"cells": len(records), "seconds": round(seconds), "kills": kills, "different": found}))
    return int(bool(found))


def reproduce_command(corpus: Path, data: Path, *, out: Path) -> list[str]:
    """The command without its output directory; writes the table and the scale."""
    out.mkdir(parents=True, exist_ok=True)
    for name, content in (("table", TABLE), ("scale", SCALE)):
        (out / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    words = ["reproduce", str(out / "table.yaml"), "--scale", str(out / "scale.yaml"), "--corpus", str(corpus)]
    return [sys.executable, "-m", "litebert", *words, "--data", str(data), "--jobs", str(JOBS), "--out"]


def run_with_kills(command: list[str], *, kills: int, random: Random, seconds: float) -> list[list[float]]:
    """Run the command until it succeeds, and kill a worker and then the scheduler, `kills` times; returns the delays.

    The kills are drawn so that all of them come before the end of a run that takes `seconds` undisturbed.
    """
    delays = []
    for _ in range(kills):
        with subprocess.Popen(command, stdout=sys.stderr) as scheduler:
            workers = wait_for_workers(scheduler)
            delays.append([round(random.uniform(0, seconds / kills / 2), 1) for _ in range(2)])
            time.sleep(delays[-1][0])
            kill(random.choice(children(scheduler.pid) or workers))
            time.sleep(delays[-1][1])
            kill(scheduler.pid)
        if scheduler.returncode != -signal.SIGKILL:
            sys.exit(f"the command ended with {scheduler.returncode} before it was killed; use fewer kills")
    subprocess.run(command, stdout=sys.stderr, check=True)
    return delays


def wait_for_workers(scheduler: "subprocess.Popen[bytes]") -> list[int]:
    """The workers, once there are any."""
    while scheduler.poll() is None:
        if found := children(scheduler.pid):
            return found
        time.sleep(0.05)
    sys.exit(f"the command ended with {scheduler.returncode} before its workers were killed; use fewer kills")


def children(pid: int) -> list[int]:
    """Processes that this process started."""
    listed = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout
    return [int(word) for word in listed.split()]


def kill(pid: int) -> None:
    """SIGKILL, if the process is there."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def differences(first: Path, second: Path) -> list[str]:
    """What differs between two reproductions: files, or steps that were logged twice or not at all."""
    files = [first / "report.md", *sorted(first.glob("runs/*/model/*.safetensors"))]
    names = [str(file.relative_to(first)) for file in files]
    found = [name for name in names if (first / name).read_bytes() != (second / name).read_bytes()]
    if without_speeds(first) != without_speeds(second):
        found.append("results.json")
    logs = sorted(file.relative_to(first) for file in first.glob("runs/*/metrics.jsonl"))
    return found + [str(name) for name in logs if logged(first / name) != logged(second / name)]


def without_speeds(out: Path) -> dict[str, Any]:
    """`results.json` without tokens per second, the only values that depend on time."""
    content = json.loads((out / "results.json").read_bytes())
    for table in content["tables"]:
        for row in table["rows"]:
            row["values"].pop("tokens_per_second", None)
    return content


def logged(metrics: Path) -> list[tuple[int, float | None]]:
    """Step and loss of every line."""
    records = map(json.loads, metrics.read_text(encoding="utf-8").splitlines())
    return [(record["step"], record.get("train/loss")) for record in records]


if __name__ == "__main__":
    sys.exit(main())
