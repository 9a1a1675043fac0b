"""A pretraining run of some minutes. Part of `gpu_check.py`, and a command of its own.

The text is a corpus directory from `litebert corpus build`, by default the documentation on the machine. It writes
`training.json`, `curve.png` and the run's `metrics.jsonl`; model and checkpoints are removed.
"""

import argparse
import shutil
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from litebert.analysis.curves import read_curves
from litebert.analysis.plots import pretraining_curve
from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.pretrain.pretrain_result import PretrainResult
from litebert.commands.pretrain.pretrain_settings import load_pretrain_config
from litebert.commands.quickstart.quickstart_text import python_pages
from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.readers.documents import Document
from litebert.errors import MissingExtraError
from litebert.files import write_json
from litebert.logs import log_to_stderr
from litebert.tokenization.vocabulary_training import TokenizerSettings, train_tokenizer
from litebert.training.callbacks.progress_display import progress_display

TINY_CORPUS = {"most_pages": 40, "vocab_size": 300}
WHOLE_CORPUS = {"most_pages": None, "vocab_size": 8000}
TINY_SETTINGS = (
    *("model.hidden_size=32", "model.num_attention_heads=2", "model.intermediate_size=64", "model.num_hidden_layers=3"),
    *("sampling.max_length=32", "batch_size=4", "max_eval_examples=16"),
)
GPU_SETTINGS = ("microbatch_size=128", "train.warmup=0.1", "train.evaluate_every=30 seconds", "train.log_every=10")
"""Changes to a recipe for hours on a CPU, for minutes on a GPU."""
OVERHEAD_SECONDS = 25.0
"""Reserved for the evaluations and for writing the model."""


def main() -> None:
    arguments = _arguments()
    log_to_stderr()
    end = time.monotonic() + 60 * arguments.minutes
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        corpus = arguments.corpus or documentation_corpus(work, **(TINY_CORPUS if arguments.tiny else WHOLE_CORPUS))
        seconds = max(1.0, end - time.monotonic() - OVERHEAD_SECONDS)
        settings = (*(TINY_SETTINGS if arguments.tiny else GPU_SETTINGS), *arguments.settings)
        length = "2 steps" if arguments.tiny else f"{seconds:.0f} seconds"
        fixed = (f"train.duration={length}", f"train.device={arguments.device}")
        run = load_pretrain_config(arguments.recipe, (*settings, *fixed), corpus=corpus)
        try:
            result = pretrain(run, work / "run", callbacks=[progress_display()])
            report = {"recipe": arguments.recipe, "settings": run.to_dict(), "result": result.to_dict()}
            write_json(arguments.out / "training.json", {**report, "text": result.to_text()})
            draw(work / "run" / "metrics.jsonl", result, arguments.out / "curve.png")
        finally:  # also after a signal
            keep(work / "run" / "metrics.jsonl", arguments.out)
    print(result.to_text())


def documentation_corpus(work: Path, *, most_pages: int | None, vocab_size: int) -> Path:
    """A corpus of the documentation on this machine, with its own vocabulary and a validation split."""
    pages = list(islice(python_pages(), most_pages))
    vocabulary = TokenizerSettings(vocab_size=vocab_size, input_sentence_size=60_000)
    tokenizer = train_tokenizer((line for page in pages for line in page.paragraphs), vocabulary, work / "tokenizer")
    documents = (Document(page.name, page.paragraphs) for page in pages)
    return build_corpus(documents, tokenizer, CorpusSettings(validation_fraction=0.06), work / "corpus").directory


def draw(metrics: Path, result: PretrainResult, picture: Path) -> None:
    """Plot the curve of the run if matplotlib is installed."""
    assert result.end is not None, "max_eval_examples is not 0"
    title = f"{result.steps:,} steps, {result.tokens / 1e6:.1f} million tokens"
    baselines = {"mlm": result.end.majority_token_accuracy, "sop": 0.5}
    try:
        pretraining_curve(read_curves(metrics), baselines, picture, title=title)
    except MissingExtraError as error:
        print(error, file=sys.stderr)


def keep(file: Path, out: Path) -> None:
    """Copy a file if it exists."""
    if file.exists():
        shutil.copy(file, out)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", nargs="*", help="settings of the recipe to change, such as batch_size=256")
    parser.add_argument("--out", type=Path, required=True, help="directory to write to")
    parser.add_argument("--corpus", type=Path, help="corpus directory; default: the documentation on this machine")
    parser.add_argument("--recipe", default="small")
    parser.add_argument("--minutes", type=float, default=4.0, help="time limit, building the corpus included")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--tiny", action="store_true", help="toy sizes, as a smoke test")
    return parser.parse_args()


if __name__ == "__main__":
    main()
