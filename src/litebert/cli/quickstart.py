"""`litebert quickstart [--text FILES…]`."""

from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from litebert.cli.arguments.common import Json, print_result
from litebert.cli.arguments.settings_arguments import arguments_of
from litebert.commands.quickstart.quickstart_settings import QuickstartRun


def quickstart(
    run: Annotated[QuickstartRun, arguments_of(QuickstartRun)],
    *,
    out: Path = Path("quickstart"),
    processes: Annotated[
        int | None,
        arg(metavar="N", help_behavior_hint="(default: 2 on a CPU with Linux, otherwise 1)"),
    ] = None,
    json: Json = False,
) -> None:
    """Run every stage in a few minutes: tokenizer, corpus, pretraining, masked words, fine-tuning.

    After an interruption the same command resumes; after the end it prints the result again.

    Args:
        out: output directory
        processes: processes on this machine that divide each batch of pretraining; with more than one, both
            fine-tunings run at the same time
    """
    # Imports torch, which takes seconds: only once the settings are known to be valid.
    from litebert.commands.quickstart.quickstart import quickstart as command
    from litebert.commands.quickstart.quickstart_pretraining import default_processes
    from litebert.training.callbacks.progress_display import progress_display

    if processes is None:
        processes = default_processes()
    print_result(command(run, out, processes=processes, callbacks=[progress_display()]), as_json=json)
