"""Commands that write predictions window after window, and end before the last one."""

import pytest

from litebert.commands.predict import resumable_output


class InterruptedRunError(BaseException):
    """The process ends here."""


def interrupt(monkeypatch, run):
    """Call `run`, but end after two windows."""
    save, saved = resumable_output._save_state, []

    def save_and_end(*arguments):
        save(*arguments)
        saved.append(arguments)
        if len(saved) == 2:
            raise InterruptedRunError

    with monkeypatch.context() as patch:
        patch.setattr(resumable_output, "_save_state", save_and_end)
        with pytest.raises(InterruptedRunError):
            run()
