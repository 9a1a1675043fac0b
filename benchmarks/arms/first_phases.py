"""Other settings for the first half of the tokens of a run; an arm of ladder.py names them, `trial=NAME`."""

from typing import Final

from litebert.training.callbacks.callback import Callback, RunState, StepRecord

FIRST_PHASES: Final = {
    "short_sequences_first": ["sampling.max_length=48", "batch_size=43", "microbatch_size=43"],
    "small_batches_first": ["batch_size=8", "microbatch_size=8"],
}
"""Settings for the first half of the tokens; the second half has those of the arm."""


class StopAtHalf(Callback):
    """Ends a run after half of it."""

    every_rank = True

    def on_step(self, run: RunState, record: StepRecord) -> None:
        """Ask for the end."""
        if record.metrics["progress"] >= 0.5:
            run.request_stop()
