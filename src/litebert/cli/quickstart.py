"""`litebert quickstart [--text FILES…]`."""

from pathlib import Path

from litebert.cli.arguments.common import Json, Several, emit


def quickstart(
    text: Several = (),
    *,
    out: Path = Path("quickstart"),
    minutes: float = 5.8,
    vocab_size: int = 4000,
    seed: int = 0,
    json: Json = False,
) -> None:
    """Run every stage in a few minutes: tokenizer, corpus, pretraining, masked words, fine-tuning.

    After an interruption the same command resumes; after the end it prints the result again.

    Args:
        text: text files, globs or directories; default: the documentation of the installed Python libraries
        out: output directory
        minutes: approximate duration on two cores
        vocab_size: size of the vocabulary
        seed: seed of all random numbers
    """
    from litebert.commands.quickstart.quickstart import QuickstartRun
    from litebert.commands.quickstart.quickstart import quickstart as run
    from litebert.training.callbacks.progress_display import progress_display

    settings = {"text": list(text), "minutes": minutes, "vocab_size": vocab_size, "seed": seed}
    result = run(QuickstartRun.parse(settings, where="quickstart"), out, callbacks=[progress_display()])
    emit(result.to_dict(), result.to_text(), as_json=json)
