"""The program `litebert`: finds the command, parses its arguments, turns errors into a sentence and an exit code.

The module of a command is imported only when the command is called, so `litebert --help` prints at once.
"""

import io
import os
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from litebert import __version__
from litebert.cli.arguments.common import is_first_process, is_unicode
from litebert.errors import DataError, LitebertError
from litebert.files import expand_home
from litebert.logs import log_to_stderr
from litebert.machine import is_failed_allocation

COMMANDS: dict[str, tuple[str, str]] = {
    "quickstart": ("from_text:quickstart", "every step in minutes, on text already on this machine or yours"),
    "tokenizer train": ("tokenizer:train", "learn a SentencePiece vocabulary from text"),
    "tokenizer encode": ("tokenizer:encode", "show the subword tokens and ids of text"),
    "prepare wikipedia": ("prepare:wikipedia", "turn Wikipedia dumps into text for `corpus build`"),
    "prepare books": ("prepare:books", "turn a folder of books into text for `corpus build`"),
    "prepare reading-comprehension": (
        "prepare:reading_comprehension",
        "make the paper's intrinsic development set of SQuAD and RACE",
    ),
    "corpus build": ("corpus.corpus:build", "turn text files into a corpus directory"),
    "corpus verify": ("corpus.corpus:verify", "check every byte and count of a corpus directory"),
    "corpus show": ("corpus.corpus:show", "show training examples in readable form"),
    "corpus stats": ("corpus.corpus:stats", "statistics of a corpus and its examples, with plots"),
    "pretrain": ("pretrain:pretrain", "train an encoder on a corpus with a recipe"),
    "adapt": ("from_text:adapt", "pretrain an encoder further, on text of your domain without labels"),
    "evaluate": ("predictions:evaluate", "score a model on validation text or labelled data, or a prediction file"),
    "finetune": ("finetune:finetune", "train a model on a labelled file"),
    "finetune-tasks": (
        "experiments:finetune_tasks",
        "fine-tune on several benchmarks, after another task or directly",
    ),
    "sweep": ("sweep:sweep", "fine-tune with several seeds, or over a grid of settings, and compare the runs"),
    "sweep pretrain": (
        "experiments:sweep_pretrain",
        "pretrain over a grid of settings, fine-tune each model, and compare",
    ),
    "reproduce": (
        "experiments:reproduce",
        "run the experiments of the paper's tables and figures, and check its claims",
    ),
    "ensemble": ("predictions:ensemble", "average the predictions of several fine-tuned models"),
    "compare": (
        "predictions:compare",
        "the difference between fine-tuned models or prediction files, on the same rows",
    ),
    "predict": ("predictions:predict", "predict every example of a file: labels, values, answers, masked tokens"),
    "embed": ("predictions:embed", "write the embedding of every row of a file"),
    "search": ("predictions:search", "find the rows of a file whose embeddings are nearest to a query"),
    "serve": ("serve:serve", "answer HTTP requests with models, and a page for trying them"),
    "glue-submission": ("predictions:glue_submission", "predict the test files of GLUE for its leaderboard"),
    "convert": ("convert:convert", "read and write transformers and TensorFlow checkpoints"),
    "average": ("convert:average", "average the weights of models that were trained from the same one"),
    "push": ("convert:push", "upload a model directory to the Hugging Face hub"),
    "export": ("convert:export", "write a model as ONNX files for runtimes without torch, such as browsers"),
    "analyze curves": ("analyze:curves", "plot the curves of runs on one page"),
    "analyze layers": ("analyze:layers", "plot how far each layer of a model moves the hidden states"),
    "info": ("info:info", "parameters, FLOPs and memory of a preset or a model directory"),
    "doctor": ("doctor:doctor", "versions, devices, threads and disk of this machine"),
}
"""Command → the function that runs it, as `module:function` below `litebert.cli`, and its summary."""
EXIT_AFTER_OS_ERROR, EXIT_AFTER_INTERRUPT = 4, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if isinstance(sys.stdout, io.TextIOWrapper) and not is_unicode(sys.stdout):
        sys.stdout.reconfigure(errors="backslashreplace")  # as stderr does
    if not words or words[0] in ("-h", "--help"):
        print(overview())
        return 0
    if words[0] == "--version":
        print(f"litebert {__version__}")
        return 0
    command, rest = _split(words)
    if command is None:
        return _unknown(words)
    # OpenMP threads that wait spin for a moment, then sleep. With OpenMP's default steps were several times slower
    # beside other processes, with 1,000 rounds 1.5 times slower where a thread wakes slowly (benchmarks/log.md). OpenMP
    # reads the variable when torch is imported.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    return _exit_code(lambda: _call(command, rest))


def overview() -> str:
    """The text of `litebert --help`."""
    width = max(map(len, COMMANDS))
    lines = [f"  litebert {command.ljust(width)}  {summary}" for command, (_, summary) in COMMANDS.items()]
    return "\n".join(
        [
            f"litebert {__version__}: ALBERT, from raw text to a small, fast encoder.",
            "",
            *lines,
            "",
            "`litebert COMMAND --help` describes one. Results go to stdout, messages to stderr.",
            "Exit codes: 0 done, 1 failed, 2 usage or settings, 3 data, 4 checkpoint, model or operating system,",
            "130/143 stopped by a signal with the state saved.",
            "LITEBERT_LOG=debug|info|warning|error sets the log level.",
        ]
    )


def _split(words: list[str]) -> tuple[str | None, list[str]]:
    """The command at the front, of two words or one, and its arguments."""
    for length in (2, 1):
        command = " ".join(words[:length])
        if len(words) >= length and command in COMMANDS:
            return command, words[length:]
    return None, words


def _unknown(words: list[str]) -> int:
    groups = get_close_matches(words[0], {command.split()[0] for command in COMMANDS}, n=1)
    members = [command for command in COMMANDS if command.split()[0] in groups]
    if words[0] in groups and (len(words) == 1 or words[1] in ("-h", "--help")):
        print("\n".join(f"litebert {command}  {COMMANDS[command][1]}" for command in members))
        return 0
    nearest = [
        command for command in members if get_close_matches(" ".join(words[1:2]), [command.split()[-1]])
    ] or members
    hint = f"did you mean {' or '.join(map(repr, nearest))}?" if nearest else "see: litebert --help"
    print(f"litebert: unknown command {' '.join(words[:2])!r}; {hint}", file=sys.stderr)
    return 2


def _call(command: str, rest: list[str]) -> int:
    import tyro

    from litebert.cli.arguments.empty_values import validate_no_empty_value
    from litebert.cli.arguments.misplaced_files import validate_no_file_without_option
    from litebert.cli.arguments.settings_arguments import REGISTRY
    from litebert.cli.arguments.settings_as_options import validate_no_setting_is_an_option
    from litebert.cli.arguments.word_order import positional_first

    # Of several processes started by torchrun only the first one logs.
    log_to_stderr(None if is_first_process() else "error")
    module_name, _, function_name = COMMANDS[command][0].partition(":")
    module = import_module(f"litebert.cli.{module_name}")
    function: Callable[..., Any] = getattr(module, function_name)
    description = getattr(module, "description", lambda: None)()
    config = (tyro.conf.OmitArgPrefixes,)
    program = f"litebert {command}"
    validate_no_empty_value(rest)
    validate_no_setting_is_an_option(command, rest, function)
    rest = [_with_home(word) for word in rest]
    validate_no_file_without_option(command, rest, function)
    args = positional_first(rest, function)
    return tyro.cli(function, prog=program, args=args, description=description, config=config, registry=REGISTRY) or 0


def _with_home(word: str) -> str:
    """A word of a command line with the home directory in place of `~`, which shells leave in `--out=~/run`."""
    return "=".join(map(expand_home, word.split("=")))


def _exit_code(call: Callable[[], int]) -> int:
    """The exit code of `call`; an error that the user can correct is one paragraph on stderr."""
    try:
        return call()
    except LitebertError as error:
        if is_first_process() or not error.on_every_rank:
            print(f"litebert: {error}", file=sys.stderr)
        _leave_process_group(error.exit_code)
        return error.exit_code
    except OSError as error:
        # A full disk, a missing permission, a name that is too long: nothing that the code could know before.
        if isinstance(error, BrokenPipeError):
            # The reader of the output (head, less) has closed it: end quietly, as Unix tools do.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        if error.strerror is None:
            raise
        place = "" if error.filename is None else f"{str(error.filename)[:200]}: "
        print(f"litebert: {place}{error.strerror.lower()}; correct this and run the command again", file=sys.stderr)
        is_wrong_path = isinstance(error, FileNotFoundError | IsADirectoryError | NotADirectoryError)
        return DataError.exit_code if is_wrong_path else EXIT_AFTER_OS_ERROR
    except (MemoryError, RuntimeError) as error:
        if not is_failed_allocation(error):
            raise
        print("litebert: out of memory; use a smaller model, batch or maximum length, or free memory", file=sys.stderr)
        return EXIT_AFTER_OS_ERROR
    except KeyboardInterrupt:
        print("litebert: interrupted; the same command can be run again", file=sys.stderr)
        return EXIT_AFTER_INTERRUPT


def _leave_process_group(exit_code: int) -> None:
    """End one of several processes at once: after an error their group is not destroyed, and may abort at exit."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(exit_code)


if __name__ == "__main__":
    sys.exit(main())
