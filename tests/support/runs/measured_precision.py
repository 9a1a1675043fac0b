"""Measurements of precision with an outcome that the test chooses."""


def measure(precision, monkeypatch):
    """From now on, `auto` is this precision."""
    monkeypatch.setattr("litebert.model.matmul_speed.fastest_precision", lambda config, device, use: precision)
