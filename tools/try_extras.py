"""Installs the wheel with each extra alone and runs what the extra is for.

Usage: python tools/try_extras.py WHEEL DIRECTORY [EXTRA …]
DIRECTORY gets one environment with torch and the core, and a new one for each extra, which sees those packages and its
own only. Needs a package index; takes minutes. Exit code 1 if an extra does not work.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"
LINES = "The film was good in {0}.\nThe music was bad in {0}.\nShe saw it."
TEXT = "\n\n".join(LINES.format(year) for year in range(1950, 2010))
ROWS = "text,label\n" + "the film was good,good\nthe film was bad,bad\n" * 20
SMALL = (
    *("train.duration=2 steps", "train.precision=fp32", "init=random", "freeze_duplicate_token_heads=false"),
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
PARQUET = """
import pyarrow, pyarrow.parquet
pyarrow.parquet.write_table(pyarrow.table({"text": ["The film was good."] * 9}), "r.parquet")
"""
DATASET = "import datasets; datasets.Dataset.from_dict({'text': ['The film was good.'] * 9}).save_to_disk('d')"
APP = "from litebert.serving.app import create_app; from litebert.serving.serve_settings import ServeSettings"
PREDICT = "import litebert; litebert.predict('run', ['the [MASK] was good']).to_pandas()"
FINETUNE = ("finetune", "default", "train.duration=2 steps", "--model", "run", "--train", "rows.csv")
Step = str | tuple[str, ...]
PROMISES: dict[str, tuple[Step, ...]] = {
    "data": (PARQUET, ("corpus", "build", "r.parquet", "--out", "c-parquet", *BUILD)),
    "datasets": (DATASET, ("corpus", "build", "hf:d", "--out", "c-dataset", *BUILD)),
    "datatrove": (("corpus", "build", "text.txt", "--out", "c-local", "--executor", "local", *BUILD),),
    "eval": ((*FINETUNE, "--out", "tuned"), "assert 'linear' in open('tuned/result.json').read()"),
    "search": (
        ("embed", "run", "lines.txt", "v.npy"),
        ("search", "run", "lines.txt", "--query", "film"),
        "import usearch",
    ),
    "plot": (("analyze", "curves", "run", "--out", "curves.html"),),
    "serve": (f"{APP}; create_app(ServeSettings(models=('run',)))",),
    "otel": ("import opentelemetry.sdk.trace, opentelemetry.instrumentation.fastapi",),
    "pandas": (PREDICT,),
    "notebook": ("import ipywidgets",),
    "docs": ("import zensical, mkdocstrings_handlers.python",),
    "export": (("export", "run", "exported"), "from litebert.runtime import Predictor; Predictor.load('exported')"),
    "runtime": ("import onnxruntime, litebert.runtime",),
    "hf": ("import transformers; transformers.AutoModel.from_pretrained('run/model')",),
    "tensorboard": ((*PRETRAIN[:2], "train.trackers=[tensorboard]", *PRETRAIN[2:], "--out", "run-tensorboard"),),
    "wandb": ((*PRETRAIN[:2], "train.trackers=[wandb]", *PRETRAIN[2:], "--out", "run-wandb"),),
    "trackio": ((*PRETRAIN[:2], "train.trackers=[trackio]", *PRETRAIN[2:], "--out", "run-trackio"),),
}
"""Extra → what is run: Python, or the words of a command. Without `ray`, which is large, and `dev`, the tools."""


def main() -> int:
    wheel, directory = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    base = environment(directory / "base")
    pip(base, "torch")
    torch = megabytes(base)
    pip(base, str(wheel))
    print(f"torch {torch:.0f} MB, core {megabytes(base) - torch:.0f} MB without bytecode")
    work = directory / "work"
    work.mkdir(exist_ok=True)
    for name, text in {"text.txt": TEXT, "lines.txt": TEXT.replace("\n\n", "\n"), "rows.csv": ROWS}.items():
        (work / name).write_text(text, encoding="utf-8")
    for step in PREPARED:
        run(base, step, work).check_returncode()
    results = [works(extra, wheel, base, work) for extra in sys.argv[3:] or PROMISES]
    return int(not all(results))


def works(extra: str, wheel: Path, base: Path, work: Path) -> bool:
    """Whether the extra, installed alone, does what it is for; prints one line."""
    start, own = time.monotonic(), environment(work.parent / extra, base)
    pip(own, f"{wheel}[{extra}]")
    for step in PROMISES[extra]:
        done = run(own, step, work)
        if done.returncode:
            print(f"{extra}: {step} failed\n{done.stderr[-2000:]}")
            return False
    print(f"{extra}: works, {megabytes(own):.0f} MB, {time.monotonic() - start:.0f} s", flush=True)
    return True


def environment(path: Path, base: Path | None = None) -> Path:
    """A new environment; with `base` it sees the packages of that one too. Returns its site-packages."""
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(path)], check=True)
    packages = next(path.glob("lib/python3*/site-packages"))
    if base is not None:
        (packages / "base.pth").write_text(f"{base}\n")
    return packages


def python(packages: Path) -> str:
    return str(packages.parents[2] / "bin" / "python")


def pip(packages: Path, requirement: str) -> None:
    options = ("--quiet", "--disable-pip-version-check", "--no-compile", "--constraint", str(CONSTRAINTS))
    subprocess.run([python(packages), "-m", "pip", "install", *options, requirement], check=True)


def megabytes(packages: Path) -> float:
    """Size of the installed files, without those of pip and bytecode."""
    files = (path for path in packages.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return sum(path.stat().st_size for path in files if not path.relative_to(packages).parts[0].startswith("pip")) / 1e6


def run(packages: Path, step: Step, work: Path) -> subprocess.CompletedProcess[str]:
    words = ["-c", step] if isinstance(step, str) else ["-m", "litebert", *step]
    offline = {"WANDB_MODE": "offline", "HF_HUB_OFFLINE": "1", "PYTHONPATH": ""}
    return subprocess.run(
        [python(packages), *words], cwd=work, env={**os.environ, **offline}, capture_output=True, text=True, check=False
    )


if __name__ == "__main__":
    sys.exit(main())
