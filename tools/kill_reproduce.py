"""Kills `litebert reproduce` and its workers with SIGKILL at random times, and compares the report with an undisturbed one.

Usage: python tools/kill_reproduce.py CORPUS DATA OUT [--kills 5] [--seed 0]
CORPUS is a corpus directory and DATA holds CoLA. The scheduler and a worker are killed in turn, `--kills` times each;
after the scheduler the same command starts again at once, while its workers may still run. Prints one JSON object; the
exit code is 1 if anything differs: the report, the results apart from speeds, the weights, the logged steps.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
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
        "freeze_duplicate_token_heads": False,
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
        {"name": "both", "model": "small", "ensemble_of": ["1 layer", "2 layers"]},
    ],
}
DAMPED: Final = 0.8
"""Share of the undisturbed time, divided by the number of kills, within which a kill falls."""


def main() -> int:
    """Run undisturbed, run with kills, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("corpus", "data", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    command = reproduce_command(arguments.corpus, arguments.data, arguments.out)
    undisturbed, killed = arguments.out / "undisturbed", arguments.out / "killed"
    started = time.monotonic()
    subprocess.run([*command, str(undisturbed)], check=True)
    seconds = time.monotonic() - started
    longest = DAMPED * seconds / arguments.kills
    kills = run_with_kills([*command, str(killed)], arguments.kills, Random(arguments.seed), longest)
    found = differences(undisturbed, killed)
    cells = len(list((undisturbed / "cells").iterdir()))
    print(json.dumps({"cells": cells, "seconds": round(seconds), "kills": kills, "different": found}, indent=1))
    return int(bool(found))


def reproduce_command(corpus: Path, data: Path, out: Path) -> list[str]:
    """The command without its output directory; writes the table and the scale."""
    out.mkdir(parents=True, exist_ok=True)
    for name, content in (("table", TABLE), ("scale", SCALE)):
        (out / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    words = ["reproduce", str(out / "table.yaml"), "--scale", str(out / "scale.yaml"), "--corpus", str(corpus)]
    return [sys.executable, "-m", "litebert", *words, "--data", str(data), "--jobs", "2", "--out"]


def run_with_kills(command: list[str], kills: int, random: Random, longest: float) -> list[dict[str, Any]]:
    """Run the command until it succeeds, with `kills` of the scheduler and of a worker in turn; returns what was killed."""
    done: list[dict[str, Any]] = []
    for number in range(2 * kills):
        with subprocess.Popen(command) as scheduler:
            workers = wait_for_workers(scheduler)
            delay = random.uniform(0, longest)
            time.sleep(delay)
            victim = "scheduler" if number % 2 == 0 else "worker"
            workers = children(scheduler.pid) or workers
            landed = scheduler.poll() is None and kill(
                scheduler.pid if victim == "scheduler" else random.choice(workers)
            )
            scheduler.wait()
        done.append({"killed": victim if landed else None, "after": round(delay, 1), "exit code": scheduler.returncode})
    subprocess.run(command, check=True)
    return done


def wait_for_workers(scheduler: "subprocess.Popen[bytes]") -> list[int]:
    """The workers, once there are any; none if the scheduler has ended before."""
    while scheduler.poll() is None:
        if found := children(scheduler.pid):
            return found
        time.sleep(0.05)
    return []


def children(pid: int) -> list[int]:
    """Processes that this process started."""
    listed = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout
    return [int(word) for word in listed.split()]


def kill(pid: int) -> bool:
    """SIGKILL; whether the process was there."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def differences(first: Path, second: Path) -> list[str]:
    """What differs between two reproductions: files, or steps that were logged twice or not at all."""
    names = sorted(
        str(file.relative_to(first)) for file in [first / "report.md", *first.glob("runs/*/model/*.safetensors")]
    )
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
