"""The price of fine-tuning in epochs, which needs the number of training rows."""

from litebert.commands.reproduce.plan import _of_duration
from litebert.training.loop.duration import Duration


def cost(duration, rows=0):
    return _of_duration(Duration.parse(duration), 8, 64, 2.0, rows=rows)


def test_epochs_cost_as_many_operations_as_their_examples():
    assert cost("3 epochs", rows=100) == cost("300 examples") == (300 * 64 * 2.0, 0.0)
    assert cost("10 steps") == (10 * 8 * 64 * 2.0, 0.0)
    assert cost("1 minutes") == (0.0, 60.0)
