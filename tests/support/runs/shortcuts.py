"""What takes time in every test and matters in few: charts of curves, many resamples, and waiting for the disk."""

import os
from importlib import import_module


def no_chart(*_, **__):
    return "<svg></svg>"


def without_waiting(descriptor):
    """`os.fsync` where no power is cut; a descriptor that is not open is still an error."""
    os.fstat(descriptor)


CHANGES = {
    ("litebert.analysis.curve_page", "line_chart_svg"): no_chart,
    ("litebert.tasks.metrics.bootstrap_difference", "RESAMPLES"): 40,
    ("os", "fsync"): without_waiting,
}
"""Module and name → the value in tests; tests/analysis and tests/tasks/metrics test the reports of users."""


def set_all(values=CHANGES):
    """Set the values; returns those before."""
    before = {(module, name): getattr(import_module(module), name) for module, name in values}
    for (module, name), value in values.items():
        setattr(import_module(module), name, value)
    return before
