"""Reports that take no time, in tests that do not read them: no charts in the pages of curves, and few resamples."""

from importlib import import_module


def no_chart(*_, **__):
    return "<svg></svg>"


CHANGES = {
    ("litebert.analysis.curve_page", "line_chart_svg"): no_chart,
    ("litebert.tasks.metrics.bootstrap_difference", "RESAMPLES"): 40,
}
"""Module and name → the value in tests; tests/analysis and tests/tasks/metrics test those of users."""


def set_all(values=CHANGES):
    """Set the values; returns those before."""
    before = {(module, name): getattr(import_module(module), name) for module, name in values}
    for (module, name), value in values.items():
        setattr(import_module(module), name, value)
    return before
