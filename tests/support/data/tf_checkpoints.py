"""Small random checkpoints that google-research/albert wrote."""

from pathlib import Path

GOLDEN = Path(__file__).parents[2] / "parity" / "golden"
NAMES = ("all_shared", "inner_group_2", "not_shared_E_equals_H", "relu", "two_groups")


def checkpoint_prefix(name: str) -> Path:
    """The prefix of one of the checkpoints."""
    return GOLDEN / name / "model.ckpt-best"
