"""`litebert quickstart [--text FILES…]`."""

from pathlib import Path
from typing import Annotated

from litebert.cli.arguments.common import Json, print_result
from litebert.cli.arguments.settings_arguments import arguments_of
from litebert.commands.quickstart.quickstart_settings import QuickstartRun


def quickstart(
    run: Annotated[QuickstartRun, arguments_of(QuickstartRun)], *, out: Path = Path("quickstart"), json: Json = False
) -> None:
    """Run every stage in a few minutes: tokenizer, corpus, pretraining, masked words, fine-tuning.

    After an interruption the same command resumes; after the end it prints the result again.

    Args:
        out: output directory
    """
    # Imports torch, which takes seconds: only once the settings are known to be valid.
    from litebert.commands.quickstart.quickstart import quickstart as command
    from litebert.training.callbacks.progress_display import progress_display

    print_result(command(run, out, callbacks=[progress_display()]), as_json=json)
