"""Installs the wheel with each extra alone, uses the extra, and prints a table of sizes and times.

Usage: python tools/try_extras.py WHEEL DIRECTORY [--only EXTRA …]
DIRECTORY gets one environment with torch and the core, and a new one for each extra, which sees those packages and its
own only. The versions are those of constraints.txt. Needs a package index; takes some minutes. An extra that fails does
not stop the others. Exit code 1 if one failed.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
UNCONSTRAINED = {"trackio"}  # needs huggingface-hub below 2; constraints.txt has a newer one
LINES = "The film was good in {0}.\nThe music was bad in {0}.\nShe saw it."
TEXT = "\n\n".join(LINES.format(year) for year in range(1950, 2010))
ROWS = "text,label\n" + "the film was good,good\nthe film was bad,bad\n" * 20
FILES = {"text.txt": TEXT, "lines.txt": TEXT.replace("\n\n", "\n"), "rows.csv": ROWS}
SMALL = (
    *("train.duration=2 steps", "train.precision=fp32", "init=random"),
    *("batch_size=4", "microbatch_size=4", "model.hidden_size=16", "model.num_hidden_layers=1"),
    *("model.num_attention_heads=2", "model.intermediate_size=32", "sampling.max_length=32", "max_eval_examples=8"),
)
PRETRAIN = ("pretrain", "tiny", *SMALL, "--corpus", "corpus")
PREPARED = (
    ("tokenizer", "train", "text.txt", "--out", "tokenizer", "--vocab-size", "45"),
    ("corpus", "build", "text.txt", "--tokenizer", "tokenizer", "--out", "corpus", "--validation-fraction", "0.3"),
    (*PRETRAIN, "--out", "run"),
)
BUILD = ("--tokenizer", "tokenizer", "--validation-fraction", "0")
FINETUNE = ("finetune", "default", "train.duration=2 steps", "--model", "run", "--train", "rows.csv")
PARQUET = """
import pyarrow, pyarrow.parquet
pyarrow.parquet.write_table(pyarrow.table({"text": ["The film was good."] * 9}), "r.parquet")
"""
DATASET = "import datasets; datasets.Dataset.from_dict({'text': ['The film was good.'] * 9}).save_to_disk('d')"
SERVE = """
import json, socket, threading, time, urllib.request, uvicorn
from litebert.serving.app import create_app
from litebert.serving.serve_settings import ServeSettings
listener = socket.create_server(("127.0.0.1", 0))
server = uvicorn.Server(uvicorn.Config(create_app(ServeSettings(models=("run",)OPTIONS))))
threading.Thread(target=server.run, kwargs={"sockets": [listener]}).start()
while not server.started:
    time.sleep(0.1)
answer = urllib.request.urlopen(f"http://127.0.0.1:{listener.getsockname()[1]}/ready")
server.should_exit = True
assert answer.status == 200
"""
PREDICT = "import litebert; litebert.predict('run', ['the [MASK] was good']).to_pandas()"
LIVE = """
import warnings
from rich.console import Console
from rich.live import Live
warnings.simplefilter("error")
with Live("step 1", console=Console(force_jupyter=True), redirect_stdout=False):
    pass
"""
WITHOUT_TORCH = """
import sys
from litebert.runtime import Predictor
Predictor.load("exported").fill_masks(["the [MASK] was good"])
assert "torch" not in sys.modules
"""
TOOL = "import subprocess, sys; subprocess.run([sys.executable, {}], check=True, stdout=sys.stderr)"


def tracked(name: str) -> tuple[str, ...]:
    return (*PRETRAIN[:2], f"train.trackers=[{name}]", *PRETRAIN[2:], "--out", f"run-{name}")


class Use(NamedTuple):
    words: str
    """What is run, for the table."""
    steps: tuple[str | tuple[str, ...], ...]
    """Python, or the words of a command."""


USES = {
    "data": Use(
        "a corpus of a Parquet file", (PARQUET, ("corpus", "build", "r.parquet", "--out", "c-parquet", *BUILD))
    ),
    "datasets": Use("a corpus of a data set", (DATASET, ("corpus", "build", "hf:d", "--out", "c-dataset", *BUILD))),
    "datatrove": Use(
        "`corpus build --executor local`",
        (("corpus", "build", "text.txt", "--out", "c-local", "--executor", "local", *BUILD),),
    ),
    "ray": Use(
        "`corpus build --executor ray`",
        (("corpus", "build", "text.txt", "--out", "c-ray", "--executor", "ray", *BUILD),),
    ),
    "eval": Use(
        "`finetune` with the tf-idf baseline",
        ((*FINETUNE, "--out", "tuned"), "assert 'tf-idf' in open('tuned/result.json').read()"),
    ),
    "search": Use("`search --index`", (("search", "run", "lines.txt", "--query", "film", "--index", "lines.usearch"),)),
    "plot": Use("`analyze curves`", (("analyze", "curves", "run", "--out", "curves.html"),)),
    "serve": Use("a server answers a request", (SERVE.replace("OPTIONS", ""),)),
    "otel": Use("the same with traces", (SERVE.replace("OPTIONS", ", otlp_endpoint='http://127.0.0.1:9/v1/traces'"),)),
    "pandas": Use("`litebert.predict(…).to_pandas()`", (PREDICT,)),
    "notebook": Use("a live display of rich for notebooks", (LIVE,)),
    "docs": Use("`tools/build_site.py`", (TOOL.format(f"'{ROOT}/tools/build_site.py', 'site'"),)),
    "export": Use("`export` to ONNX", (("export", "run", "exported"),)),
    "runtime": Use("`litebert.runtime` on that file, without torch", (WITHOUT_TORCH,)),
    "hf": Use(
        "`AutoModel.from_pretrained`", ("import transformers; transformers.AutoModel.from_pretrained('run/model')",)
    ),
    "tensorboard": Use("`pretrain` with this tracker", (tracked("tensorboard"),)),
    "wandb": Use("`pretrain` with this tracker", (tracked("wandb"),)),
    "trackio": Use("`pretrain` with this tracker", (tracked("trackio"),)),
    "dev": Use(
        "the tests of `tests/core`", (TOOL.format(f"'-m', 'pytest', '-q', '--rootdir', '{ROOT}', '{ROOT}/tests/core'"),)
    ),
}
"""Extra → how it is used; `runtime` needs the file of `export`."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--only", nargs="+", choices=USES, default=tuple(USES), metavar="EXTRA")
    given = parser.parse_args()
    wheel, work = given.wheel.resolve(), given.directory.resolve() / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    base = core_environment(wheel, work.parent / "base")
    for name, text in FILES.items():
        (work / name).write_text(text, encoding="utf-8")
    for step in PREPARED:
        run(base, step, work).check_returncode()
    print("| extra | adds | seconds | what was run |\n| --- | --- | --- | --- |")
    results = [works(extra, wheel, base=base, work=work) for extra in given.only]
    return int(not all(results))


def core_environment(wheel: Path, path: Path) -> Path:
    """The environment with torch and the core, made anew; prints the size of the core."""
    base = environment(path)
    pip(base, "torch", "--no-compile").check_returncode()
    torch = megabytes(base)
    pip(base, str(wheel)).check_returncode()
    core, bytecode = megabytes(base) - torch, megabytes(base, bytecode=True)
    print(f"torch {torch:.0f} MB; core {core:.0f} MB, and {bytecode:.0f} MB of bytecode\n", flush=True)
    return base


def works(extra: str, wheel: Path, *, base: Path, work: Path) -> bool:
    """Whether the extra, installed alone, does what it is for; prints its row of the table."""
    start, own, use = time.monotonic(), environment(work.parent / extra, base), USES[extra]
    done = pip(own, f"{wheel}[{extra}]", "--no-compile", is_constrained=extra not in UNCONSTRAINED)
    for step in use.steps:
        done = run(own, step, work) if done.returncode == 0 else done
    failed = done.returncode != 0
    size = "failed" if failed else f"{megabytes(own):.0f} MB"
    print(f"| `{extra}` | {size} | {time.monotonic() - start:.0f} | {use.words} |", flush=True)
    if failed:
        print(f"{extra}: {done.args}\n{done.stderr[-3000:]}", file=sys.stderr, flush=True)
    return not failed


def environment(path: Path, base: Path | None = None) -> Path:
    """A new environment; with `base` it sees the packages of that one too. Returns its site-packages."""
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(path)], check=True)
    packages = next(path.glob("lib/python3*/site-packages"))
    if base is not None:
        (packages / "base.pth").write_text(f"{base}\n")
    return packages


def pip(packages: Path, *arguments: str, is_constrained: bool = True) -> subprocess.CompletedProcess[str]:
    constraint = ("--constraint", str(ROOT / "constraints.txt")) if is_constrained else ()
    command = [python(packages), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    return call([*command, *constraint, *arguments])


def megabytes(packages: Path, *, bytecode: bool = False) -> float:
    """Size of the installed files without those of pip: all but the bytecode, or the bytecode."""
    files = [path for path in packages.rglob("*") if path.is_file() and (path.suffix == ".pyc") is bytecode]
    return sum(path.stat().st_size for path in files if not path.relative_to(packages).parts[0].startswith("pip")) / 1e6


def run(packages: Path, step: str | tuple[str, ...], work: Path) -> subprocess.CompletedProcess[str]:
    words = ["-c", step] if isinstance(step, str) else ["-m", "litebert", *step]
    return call([python(packages), *words], cwd=work)


def call(command: list[str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    settings = {"WANDB_MODE": "offline", "HF_HUB_OFFLINE": "1", "PYTHONPATH": ""}
    environment = {**os.environ, **settings}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def python(packages: Path) -> str:
    return str(packages.parents[2] / "bin" / "python")


if __name__ == "__main__":
    sys.exit(main())
