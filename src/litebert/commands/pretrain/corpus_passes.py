"""How often a pretraining run reads its corpus."""

from litebert.commands.pretrain.pretrain_start import PretrainStart
from litebert.training.loop.run_schedule import RunSchedule

MANY_PASSES = 10
"""A note is printed above this number."""


def corpus_passes(start: PretrainStart, schedule: RunSchedule, *, steps: int | None) -> float | None:
    """Passes of the run over its corpus, without the corpora of a mixture; None if they are not known in advance.

    They follow from a duration in tokens, or from the number of steps.
    """
    duration = schedule.settings.duration
    if duration.unit == "tokens":
        share = 1 / (1 + sum(start.run.data_mixture.values()))
        return duration.amount * share / start.corpus.num_tokens
    if steps is None:
        return None
    return steps * schedule.converter.batch_size / schedule.converter.examples_per_epoch


def passes_text(passes: float) -> str:
    """`4.2 passes over the corpus`, with a note if they are many."""
    number = "less than 0.1" if passes < 0.1 else f"{passes:.1f}" if passes < MANY_PASSES else f"{passes:,.0f}"
    many = f"; note: above {MANY_PASSES}, a smaller recipe or more text is better" if passes > MANY_PASSES else ""
    return f"{number} passes over the corpus{many}"
