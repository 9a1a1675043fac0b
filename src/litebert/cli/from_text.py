"""Commands that go from text to a model in one call: `litebert quickstart`, `litebert adapt`."""

from pathlib import Path
from typing import Annotated

from litebert.cli.arguments.common import Json, print_result
from litebert.cli.arguments.settings_arguments import arguments_of
from litebert.commands.pretrain.adapt_settings import AdaptRun
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


def adapt(run: Annotated[AdaptRun, arguments_of(AdaptRun, positional=("model", "texts"))], json: Json = False) -> None:
    """Pretrain an encoder further on text of your domain, without labels: for a task with few labelled rows. Then
    fine-tune the model that it writes.

    The text becomes a corpus in the run directory, with the tokenizer of the model, and the model predicts its masked
    tokens (and next tokens, if it has learned to) as in its own pretraining, for two passes. A model without a record
    of its pretraining gets 15 % masked tokens. Hidden sizes up to 384 are trained with Muon at 0.005 and AdamW at
    0.001, others with AdamW at 0.0001. In the literature this is domain- or task-adaptive pretraining.

    The same command again resumes an unfinished run, or prints the result of a finished one.
    """
    from litebert.commands.pretrain.adapt import adapt as command
    from litebert.training.callbacks.progress_display import progress_display

    print_result(command(run, callbacks=[progress_display()]), as_json=json)
