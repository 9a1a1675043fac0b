"""The command `litebert`: finds the verb, parses its arguments, turns errors into a sentence and an exit code.

Each verb is one module of this package. Nothing heavy is imported before the verb is known, so that
`litebert --help` answers at once.
"""

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from litebert import __version__
from litebert.cli.arguments.common import is_first_process
from litebert.errors import LitebertError
from litebert.logs import log_to_stderr

VERBS: dict[str, tuple[str, str]] = {
    "quickstart": (
        "quickstart:quickstart",
        "the whole product in minutes, on text already on this machine or yours",
    ),
    "tokenizer train": ("tokenizer:train", "learn a SentencePiece vocabulary from text"),
    "tokenizer encode": ("tokenizer:encode", "show how text becomes pieces and ids"),
    "source wikipedia": ("prepare:wikipedia", "turn Wikipedia dumps into text for `corpus build`"),
    "source books": ("prepare:books", "turn a folder of books into text for `corpus build`"),
    "source reading-comprehension": (
        "prepare:reading_comprehension",
        "make the paper's intrinsic development set of SQuAD and RACE",
    ),
    "corpus build": ("corpus.corpus:build", "turn text files into a corpus directory"),
    "corpus verify": ("corpus.corpus:verify", "check every byte and count of a corpus directory"),
    "corpus show": ("corpus.corpus:show", "show training examples as a person reads them"),
    "corpus stats": ("corpus.stats:stats", "count what a corpus and its examples come to, with plots"),
    "pretrain": ("pretrain:pretrain", "train an encoder on a corpus with a recipe"),
    "evaluate": ("evaluate:evaluate", "score a model on held-out text or on a labelled file"),
    "finetune": ("finetune:finetune", "train a model on a labelled file"),
    "sweep": ("sweep:sweep", "fine-tune with several seeds, or over a grid of settings, and compare"),
    "ensemble": ("ensemble:ensemble", "average the predictions of several fine-tuned models"),
    "predict": ("predict:predict", "answer for every row of a file: masked words, classes, values"),
    "glue-submission": ("glue_submission:glue_submission", "predict the test files of GLUE for its leaderboard"),
    "convert": ("convert:convert", "read and write transformers and TensorFlow checkpoints"),
    "analyze curves": ("analyze:curves", "draw the curves of runs on one page"),
    "info": ("info:info", "parameters, FLOPs and memory of a preset or a model directory"),
    "doctor": ("doctor:doctor", "versions, devices, threads and disk of this machine"),
}
EXIT_AFTER_INTERRUPT = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("-h", "--help"):
        print(overview())
        return 0
    if words[0] == "--version":
        print(f"litebert {__version__}")
        return 0
    verb, rest = _split(words)
    if verb is None:
        return _unknown(words)
    # Started by torchrun, all processes do the work and the first one tells of it.
    log_to_stderr(os.environ.get("LITEBERT_LOG", "info") if is_first_process() else "error")
    # Threads that wait for each other sleep soon instead of spinning: on a machine that does anything else besides,
    # spinning made training steps several times slower (docs/log.md). Read by OpenMP when torch is imported.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    # Large tensors in large pages: a training step on a CPU asks the kernel for 20,000 small ones otherwise, 4 % of it.
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    return _explained(lambda: _call(verb, rest))


def overview() -> str:
    """The text of `litebert --help`."""
    width = max(map(len, VERBS))
    lines = [f"  litebert {verb.ljust(width)}  {summary}" for verb, (_, summary) in VERBS.items()]
    return "\n".join(
        [
            f"litebert {__version__}: ALBERT, from raw text to a small, fast encoder.",
            "",
            *lines,
            "",
            "`litebert VERB --help` explains one. Results go to stdout, messages to stderr.",
            "Exit codes: 0 done, 1 failed, 2 usage or settings, 3 data, 4 checkpoint or model,",
            "130/143 stopped by a signal with the state saved.",
            "LITEBERT_LOG=debug|info|warning|error sets how much is said.",
        ]
    )


def _split(words: list[str]) -> tuple[str | None, list[str]]:
    """The verb at the front, of two words or one, and what follows it."""
    for length in (2, 1):
        verb = " ".join(words[:length])
        if len(words) >= length and verb in VERBS:
            return verb, words[length:]
    return None, words


def _unknown(words: list[str]) -> int:
    from difflib import get_close_matches

    rooms = [verb for verb in VERBS if verb.split()[0] == words[0]]
    if rooms and (len(words) == 1 or words[1] in ("-h", "--help")):
        print("\n".join(f"litebert {verb}  {VERBS[verb][1]}" for verb in rooms))
        return 0
    close = rooms or get_close_matches(" ".join(words[:2]), VERBS, n=1) or get_close_matches(words[0], VERBS, n=1)
    hint = f"did you mean {' or '.join(repr(verb) for verb in close)}?" if close else "see: litebert --help"
    print(f"litebert: unknown command {' '.join(words[:2])!r}; {hint}", file=sys.stderr)
    return 2


def _call(verb: str, rest: list[str]) -> int:
    import tyro

    module_name, _, function_name = VERBS[verb][0].partition(":")
    module = import_module(f"litebert.cli.{module_name}")
    function: Callable[..., Any] = getattr(module, function_name)
    description = getattr(module, "description", lambda: None)()
    config = (tyro.conf.OmitArgPrefixes,)
    tyro.cli(function, prog=f"litebert {verb}", args=rest, description=description, config=config)
    return 0


def _explained(call: Callable[[], int]) -> int:
    """The exit code of `call`; an error the user can mend becomes one paragraph on stderr."""
    try:
        return call()
    except LitebertError as error:
        print(f"litebert: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("litebert: interrupted", file=sys.stderr)
        return EXIT_AFTER_INTERRUPT
    except BrokenPipeError:
        # The reader of our output (head, less) left; closing quietly is what a Unix tool does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    sys.exit(main())
