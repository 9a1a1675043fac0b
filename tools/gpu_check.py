"""All checks that need a GPU, in one command of ten minutes: kernel tests, speed, profiles, a pretraining run.

python tools/gpu_check.py --out DIR [--corpus DIR] [--minutes 9] [--parts tests speed profile training] [--recipe NAME]
    [--device cuda|cpu] [--tiny] [setting=value …]

Each part is a process of its own with its share of the time, so that the results of the others are kept after an error
or a kernel that breaks the device. After each part the JSON (`DATE-COMMIT.json`, described in
benchmarks/results/README.md) and `report.md` are written again.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from litebert.files import write_json, write_text
from litebert.machine import environment

ROOT = Path(__file__).parents[1]
SHARES = {"tests": 0.1, "speed": 0.38, "profile": 0.17, "training": 0.35}
"""Share of the time of each part, if all are run."""
GRACE_SECONDS = 15
"""Between SIGTERM, upon which training saves its metrics, and SIGKILL."""
MARGIN_SECONDS = 20
"""A part plans to finish this long before it is stopped."""
KEPT = ("curve.png", "metrics.jsonl")


@dataclass(frozen=True)
class Part:
    """One process: its command, its time limit, and the JSON file that it writes."""

    name: str
    command: Sequence[str]
    seconds: float
    result: Path


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = _arguments(arguments)
    out = chosen.out
    out.mkdir(parents=True, exist_ok=True)
    report = head(chosen.device, tiny=chosen.tiny)
    file = out / f"{report['date'][:10]}-{(report['environment']['commit'] or 'unknown')[:10]}.json"
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        for part in parts(chosen, work):
            print(f"{part.name}: at most {part.seconds:.0f} s", flush=True)
            report["parts"][part.name] = run(part, out / f"{part.name}.log")
            for name in KEPT:
                if (work / name).exists():
                    shutil.copy(work / name, out)
            write_json(file, report)
            write_text(out / "report.md", text(report, [work / "speed.md", work / "profile.md"]))
    print((out / "report.md").read_text(encoding="utf-8"))
    return int(not all(part["ok"] for part in report["parts"].values()))


def head(device: str, *, tiny: bool) -> dict[str, Any]:
    """Date, device and environment of the report."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": torch.cuda.get_device_name() if device == "cuda" and torch.cuda.is_available() else device,
        "cuda": torch.version.cuda,
        "tiny": tiny,
        "environment": environment(),
        "parts": {},
    }


def parts(chosen: argparse.Namespace, work: Path) -> list[Part]:
    """The chosen ones of tests, speed, profile and training; each writes to `work`."""
    corpus = ["--corpus", str(chosen.corpus)] if chosen.corpus else []
    recipe = ["--recipe", chosen.recipe]
    scripts = {
        "tests": [ROOT / "tools" / "gpu_tests.py", "--out", work],
        "speed": [ROOT / "benchmarks" / "training_speed.py", "--out", work / "speed.json"],
        "profile": [ROOT / "tools" / "gpu_profile.py", "--out", work, *corpus],
        "training": [ROOT / "tools" / "gpu_training.py", "--out", work, *corpus, *recipe, *chosen.settings],
    }
    common = ["--device", chosen.device, *(["--tiny"] if chosen.tiny else [])]
    made = []
    whole = sum(SHARES[name] for name in chosen.parts)
    for name in chosen.parts:
        script, seconds = scripts[name], 60 * chosen.minutes * SHARES[name] / whole
        minutes = max(seconds - MARGIN_SECONDS, seconds / 2) / 60
        own = ["--minutes", f"{minutes:.3f}"] if name in ("speed", "training") else []
        command = [str(word) for word in (sys.executable, *script, *common, *own)]
        made.append(Part(name, command, seconds, work / f"{name}.json"))
    return made


def run(part: Part, log: Path) -> dict[str, Any]:
    """Run one part; its outcome, also if it failed or was stopped."""
    start = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(part.command, stdout=output, stderr=subprocess.STDOUT, cwd=ROOT)
        try:
            process.wait(part.seconds)
            stopped = False
        except subprocess.TimeoutExpired:
            _stop(process)
            stopped = True
    outcome: dict[str, Any] = {
        "ok": process.returncode == 0 and not stopped,
        "stopped": stopped,
        "exit_status": process.returncode,
        "seconds": round(time.monotonic() - start, 1),
        "result": json.loads(part.result.read_bytes()) if part.result.exists() else None,
    }
    if not outcome["ok"]:
        outcome["log_end"] = log.read_text(encoding="utf-8", errors="replace")[-2000:]
    return outcome


def text(report: dict[str, Any], tables: Sequence[Path]) -> str:
    """The report for a person."""
    outcomes = report["parts"]
    lines = [f"# {report['device']}, {report['date']}, commit {report['environment']['commit']}", ""]
    for name, part in outcomes.items():
        state = "ok" if part["ok"] else "STOPPED, out of time," if part["stopped"] else "FAILED"
        lines.append(f"- {name}: {state} after {part['seconds']} s")
    results = {name: part["result"] for name, part in outcomes.items() if part["result"]}
    if tests := results.get("tests"):
        lines += ["", f"GPU tests: {tests['passed']} passed, {tests['skipped']} skipped, failed: {tests['failed']}"]
    for table in tables:
        if table.exists():
            lines += ["", table.read_text(encoding="utf-8").rstrip()]
    if training := results.get("training"):
        lines += ["", f"Training, recipe {training['recipe']}:", "", "```", training["text"], "```"]
    return "\n".join(lines) + "\n"


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", nargs="*", help="settings of the training's recipe to change")
    parser.add_argument("--out", type=Path, required=True, help="directory for the report")
    parser.add_argument("--corpus", type=Path, help="corpus directory; default: the documentation on the machine")
    parser.add_argument("--recipe", default="small", help="recipe of the training")
    parser.add_argument("--parts", nargs="+", choices=tuple(SHARES), default=tuple(SHARES), help="default: all")
    parser.add_argument("--minutes", type=float, default=9.0, help="time limit for all parts")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--tiny", action="store_true", help="toy sizes, as a smoke test")
    chosen = parser.parse_args(arguments)
    chosen.out = chosen.out.resolve()  # the parts run in the root of the project
    chosen.corpus = chosen.corpus and chosen.corpus.resolve()
    return chosen


if __name__ == "__main__":
    sys.exit(main())
