"""Claims of the paper as tests: exact numbers, orderings and equivalences over seeds, intervals around its values."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from litebert.commands.reproduce.scores import Scores
from litebert.commands.reproduce.tables.paper_tables import (
    Claim,
    Equivalence,
    Exact,
    Interval,
    NonInferiority,
    Ordering,
    SameSettings,
    Table,
)
from litebert.commands.reproduce.tables.table_metrics import DECIMALS, Metric
from litebert.errors import import_extra
from litebert.model.model_stats import parameter_counts
from litebert.model.presets import preset

State = Literal["held", "not held", "undecided"]
SIGNIFICANCE = 0.05
MIN_SEEDS = 3
"""Seeds below which nothing is decided: with two, a t-test hangs on one difference."""


@dataclass(frozen=True)
class Verdict:
    """A claim and what was seen."""

    about: str
    state: State
    """`undecided`: too few seeds, or a difference that may be chance."""
    seen: str
    p_value: float | None = None
    """Of the null hypothesis that the claim is false; None where nothing is tested."""


def verdict(claim: Claim, table: Table, scores: Scores) -> Verdict:
    """The verdict on one claim."""
    if isinstance(claim, Exact):
        return _exact(claim)
    if isinstance(claim, SameSettings):
        return _same_settings(claim, table, scores)
    if isinstance(claim, Interval):
        return _interval(claim, table, scores)
    if isinstance(claim, Ordering):
        differences, seen = _differences(claim.metric, claim.greater, claim.less, table, scores)
        if len(differences) < MIN_SEEDS:
            return Verdict(claim.about, "undecided", seen)
        greater, less = t_test(differences, 0, "greater"), t_test(differences, 0, "less")
        return Verdict(claim.about, _state(greater, less), seen, greater)
    return _within_margin(claim, table, scores)


def require_scipy(claims: Iterable[Claim], *, seeds: int) -> None:
    """Raises MissingExtraError before hours of training, not after them, if one of the claims is tested over seeds."""
    if seeds >= MIN_SEEDS and any(isinstance(claim, Ordering | Equivalence | NonInferiority) for claim in claims):
        _scipy_stats()


def _exact(claim: Exact) -> Verdict:
    counts = parameter_counts(preset(claim.preset))
    found = {counts.encoder: "without", counts.encoder_and_pooler: "with", counts.pretraining: "with heads and"}
    state: State = "held" if claim.parameters in found else "not held"
    seen = claim.parameters if claim.parameters in found else counts.encoder_and_pooler
    return Verdict(claim.about, state, f"{seen:,} {found[seen]} pooler")


def _same_settings(claim: SameSettings, table: Table, scores: Scores) -> Verdict:
    settings = [(row.name, name, value) for row in table.rows for name, value in row.paper.items()]
    differing = [f"{row}: {name}" for row, name, value in settings if set(scores.of(row, name)) != {value}]
    seen = f"{', '.join(differing)} differ" if differing else f"{len(settings)} settings are equal"
    return Verdict(claim.about, "not held" if differing else "held", seen)


def _interval(claim: Interval, table: Table, scores: Scores) -> Verdict:
    row = table.row(claim.of)
    paper = row.paper.get(claim.metric)
    values = [value for value in scores.of(claim.of, claim.metric) if value is not None]
    if paper is None or not values:
        return Verdict(claim.about, "undecided", "not measured at this scale")
    if claim.metric == "average" and (missing := [task for task in row.tasks if not scores.of(row.name, task)]):
        return Verdict(claim.about, "undecided", f"without {', '.join(missing)}, which the paper's average includes")
    median = float(np.median(values))
    state: State = "held" if abs(median - paper) <= claim.within else "not held"
    return Verdict(claim.about, state, f"{median:.1f}, in the paper {paper:.1f}")


def _within_margin(claim: Equivalence | NonInferiority, table: Table, scores: Scores) -> Verdict:
    """Two one-sided tests (Schuirmann 1987), of non-inferiority only the lower one."""
    differences, seen = _differences(claim.metric, claim.of, claim.to, table, scores)
    if len(differences) < MIN_SEEDS:
        return Verdict(claim.about, "undecided", seen)
    inside, outside = (t_test(differences, -claim.within, side) for side in ("greater", "less"))
    if isinstance(claim, Equivalence):
        inside = max(inside, t_test(differences, claim.within, "less"))
        outside = min(outside, t_test(differences, claim.within, "greater"))
    return Verdict(claim.about, _state(inside, outside), f"{seen} (margin {claim.within:g})", inside)


def _differences(
    metric: Metric, first: str, second: str | float | tuple[str, ...], table: Table, scores: Scores
) -> tuple[np.ndarray, str]:
    """First minus second, by seed, and both in words."""
    names = [first, *((second,) if isinstance(second, str) else second if isinstance(second, tuple) else ())]
    found = {name: scores.of(name, metric) for name in names}
    seeds = max(map(len, found.values()))
    for name, values in found.items():
        if table.row(name).baseline:  # which has no seeds
            found[name] = values * seeds
    left = found[first]
    if isinstance(second, tuple):
        right = [_best(values) for values in zip(*(found[row] for row in second), strict=False)]
    else:
        right = [second] * len(left) if isinstance(second, int | float) else found[second]
    pairs = [(a, b) for a, b in zip(left, right, strict=False) if a is not None and b is not None]
    if not pairs:
        return np.zeros(0), "not measured"
    values = np.array(pairs, dtype=np.float64)
    means = values.mean(0)
    digits = DECIMALS.get(metric, 1)
    words = f"{len(pairs)} {'seed' if len(pairs) == 1 else 'seeds'}"
    return values[:, 0] - values[:, 1], f"{means[0]:.{digits}f} against {means[1]:.{digits}f}, {words}"


def _best(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return max(known) if len(known) == len(values) else None


def t_test(differences: np.ndarray, mean: float, alternative: Literal["greater", "less"]) -> float:
    """p-value of a one-sided t-test of paired differences.

    It is 1 if all differences are equal: seeds that change nothing are those of models that learned nothing.
    """
    if np.ptp(differences) == 0:
        return 1.0
    return float(_scipy_stats().ttest_1samp(differences, mean, alternative=alternative).pvalue)


def _scipy_stats() -> Any:
    return import_extra("scipy.stats", extra="eval", needed_for="testing claims")


def _state(claimed: float, opposite: float) -> State:
    if claimed < SIGNIFICANCE:
        return "held"
    return "not held" if opposite < SIGNIFICANCE else "undecided"
