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
    """The whole product in minutes: tokenizer, corpus, pretraining, masked words, fine-tuning.

    The same command again resumes what was interrupted, or shows the result.

    Args:
        text: your own text files, globs or directories; without any, the documentation on this machine
        out: directory for everything that is made
        minutes: about how long it takes on two cores
        vocab_size: pieces of the vocabulary
        seed: seed of everything that is drawn by chance
    """
    from litebert.commands.quickstart.quickstart import QuickstartRun
    from litebert.commands.quickstart.quickstart import quickstart as run
    from litebert.training.callbacks.progress_display import progress_display

    settings = {"text": list(text), "minutes": minutes, "vocab_size": vocab_size, "seed": seed}
    result = run(QuickstartRun.parse(settings, where="quickstart"), out, callbacks=[progress_display()])
    emit(result.to_dict(), result.to_text(), as_json=json)
