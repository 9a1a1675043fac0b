"""Tolerances of numeric tests are those of tests/support/models/tolerances.py. Each test lists offenders."""

import ast
from collections.abc import Iterator
from pathlib import Path

import torch

from support.models.tolerances import TOLERANCES

TESTS = Path(__file__).parents[1]
ARGUMENTS = {"atol", "rtol", "abs", "rel", "abs_tol", "rel_tol"}
LARGEST = 1e-3
"""Larger figures are shares, times and statistics, or of int8."""
OWN_FIGURES = {
    "commands/finetune/test_default_settings.py": "limits of learning rates",
    "commands/finetune/test_finetune_questions.py": "metrics are percentages with four decimals",
    "commands/finetune/test_finetune_settings.py": "an interval of training at a learning rate of 1e-12",
    "commands/pretrain/test_init_checkpoint.py": "an interval of training at a learning rate of 1e-6",
    "commands/pretrain/test_validation_scores.py": "an expected value with six digits",
    "commands/test_recipes.py": "expected values with three digits",
    "corpus/sampling/test_pairing.py": "a share that is estimated from examples",
    "corpus/statistics/test_cooccurrence.py": "an approximation by a random projection",
    "distributed/test_pretrain_two_ranks.py": "Muon scales every direction alike, those of rounding errors too",
    "model/initialization/test_random_init.py": "the mean of random numbers",
    "model/layers/test_lora.py": "a difference that must be larger",
    "tasks/metrics/test_metrics.py": "published values with four digits",
    "training/optim/test_optimizers.py": "eps of the optimizer, and differences that must be larger",
}
"""Path → why its figures are its own."""


def is_small(node: ast.expr) -> bool:
    """Whether a number in an expression is a tolerance: 0 means bit by bit."""
    numbers = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and type(each.value) is float]
    return any(0 < number <= LARGEST for number in numbers)


def own_figures(path: Path) -> Iterator[int]:
    """Lines with a small number as an argument for tolerance or at the larger side of a comparison."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.keyword) and node.arg in ARGUMENTS and is_small(node.value):
            yield node.value.lineno
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            larger = [
                sides[place + isinstance(operator, ast.Lt | ast.LtE)]
                for place, operator in enumerate(node.ops)
                if isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE)
            ]
            if any(is_small(side) for side in larger):
                yield node.lineno


def test_numeric_tests_take_their_tolerances_from_the_table():
    found = {path.relative_to(TESTS).as_posix(): sorted(set(own_figures(path))) for path in TESTS.rglob("test_*.py")}
    offenders = [f"{path}: lines {lines}" for path, lines in found.items() if lines and path not in OWN_FIGURES]
    assert not offenders, "take these from tests/support/models/tolerances.py:\n" + "\n".join(sorted(offenders))
    assert not [path for path in OWN_FIGURES if not found.get(path)], "remove these from OWN_FIGURES"


def test_tolerances_grow_with_depth_and_with_the_rounding_of_the_precision():
    for row in TOLERANCES.values():
        assert 2**-52 < row[torch.float64] < 2**-23 < row[torch.float32] < 2**-8 < row[torch.bfloat16]
    for precision in TOLERANCES["model"]:
        operation, model, compound = (TOLERANCES[depth][precision] for depth in ("operation", "model", "compound"))
        assert operation <= model <= compound
