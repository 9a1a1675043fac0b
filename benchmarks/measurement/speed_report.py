"""What `training_speed.py` found: figures of each contestant in each case, as JSON and as Markdown tables.

The keys of the JSON are described in benchmarks/results/README.md.
"""

from dataclasses import asdict, dataclass, field
from typing import Any

from measurement.step_times import Timing

OUT_OF_TIME = "not measured: out of time"
IN_FP32 = "fp32"
"""The variant of transformers that trains in fp32 beside others in bf16."""


@dataclass(frozen=True)
class Machine:
    """Where the figures were measured."""

    device: str
    peak_flops: float | None
    """In bf16, by the data sheet; None if unknown."""
    threads: int
    versions: dict[str, str | None]


@dataclass(frozen=True)
class Figures:
    """One turn of one contestant."""

    batch_size: int
    tokens: int
    """Of the batch, without padding."""
    flops_a_token: float
    timing: Timing

    @property
    def tokens_per_second(self) -> float:
        """Without padding."""
        return self.tokens / self.timing.seconds_a_step

    @property
    def flops_per_second(self) -> float:
        """That the tokens need, without those of padding."""
        return self.tokens_per_second * self.flops_a_token

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "batch_size": self.batch_size,
            "sequences_per_second": self.batch_size / self.timing.seconds_a_step,
            "tokens_per_second": self.tokens_per_second,
            "flops_a_token": self.flops_a_token,
            **asdict(self.timing),
        }


@dataclass
class Row:
    """One contestant of a case: its turns, or the reason why there are none."""

    library: str
    variant: str
    turns: list[Figures] = field(default_factory=list)
    error: str = ""
    """Why the contestant is not measured further; its turns do not count then."""

    @property
    def fastest(self) -> Figures | None:
        """The turn that counts: other processes make a turn slower, nothing makes it faster."""
        return max(self.turns, key=lambda each: each.tokens_per_second, default=None) if not self.error else None

    @property
    def note(self) -> str:
        """The reason why there are no figures; empty if there are."""
        return self.error or ("" if self.turns else OUT_OF_TIME)

    def to_dict(self, *, matmul_flops: float, peak_flops: float | None) -> dict[str, Any]:
        """For JSON, with the shares of both rates."""
        values: dict[str, Any] = {"library": self.library, "variant": self.variant, "note": self.note}
        if (fastest := self.fastest) is None:
            return values
        return {
            **values,
            **fastest.to_dict(),
            "tokens_per_second_of_turns": [each.tokens_per_second for each in self.turns],
            "of_matmul_rate": fastest.flops_per_second / matmul_flops,
            "mfu": fastest.flops_per_second / peak_flops if peak_flops else None,
        }


@dataclass(frozen=True)
class SpeedRatio:
    """Speed of litebert's fastest row over that of another, and the smallest and largest ratio in one turn."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, ours: Row | None, theirs: Row | None) -> "SpeedRatio | None":
        """None where one of the rows is missing."""
        if ours is None or theirs is None or ours.fastest is None or theirs.fastest is None:
            return None
        pairs = zip(ours.turns, theirs.turns, strict=False)  # the last turn may have ended after one of both
        of_turns = [one.tokens_per_second / other.tokens_per_second for one, other in pairs]
        return cls(ours.fastest.tokens_per_second / theirs.fastest.tokens_per_second, min(of_turns), max(of_turns))

    def __str__(self) -> str:
        return f"{self.value:.2f} (turns {self.low:.2f} to {self.high:.2f})"


@dataclass
class Case:
    """A model on rows of one kind."""

    model: str
    kind: str
    """Which lengths the rows have: full or mixed."""
    length: int
    rows: list[Row] = field(default_factory=list)
    output_difference: float | None = None
    """Relative, in fp32; None without transformers."""
    note: str = ""
    failed: str = ""

    @property
    def ratio(self) -> SpeedRatio | None:
        """To the fastest of transformers in the same precision."""
        return SpeedRatio.of(self._fastest("litebert"), self._fastest("transformers"))

    @property
    def ratio_to_fp32(self) -> SpeedRatio | None:
        """To transformers in fp32, where the others train in bf16."""
        return SpeedRatio.of(self._fastest("litebert"), self._fastest("transformers", in_fp32=True))

    @property
    def memory_ratio(self) -> float | None:
        """Peak memory of the rows of `ratio`."""
        rows = self._fastest("litebert"), self._fastest("transformers")
        known = [row.fastest.timing.peak_bytes for row in rows if row is not None and row.fastest is not None]
        ours, theirs = known if len(known) == 2 else (None, None)
        return ours / theirs if ours and theirs else None

    def _fastest(self, library: str, *, in_fp32: bool = False) -> Row | None:
        rows = [each for each in self.rows if each.library == library and (each.variant == IN_FP32) is in_fp32]
        known = [(row.fastest.tokens_per_second, row) for row in rows if row.fastest is not None]
        return max(known, key=lambda each: each[0], default=(0.0, None))[1]

    def to_dict(self, *, matmul_flops: float, peak_flops: float | None) -> dict[str, Any]:
        """For JSON."""
        rows = [row.to_dict(matmul_flops=matmul_flops, peak_flops=peak_flops) for row in self.rows]
        values: dict[str, Any] = {"model": self.model, "kind": self.kind, "length": self.length, "rows": rows}
        if self.output_difference is not None:
            values["output_difference"] = self.output_difference
        for name, ratio in (("ratio", self.ratio), ("ratio_to_fp32", self.ratio_to_fp32)):
            values[name] = ratio and ratio.value
            values[f"{name}_of_turns"] = ratio and [ratio.low, ratio.high]
        values["memory_ratio"] = self.memory_ratio
        return values | {name: text for name, text in (("note", self.note), ("failed", self.failed)) if text}

    def verdict(self) -> str:
        """The comparison in a line."""
        parts = {
            "outputs agree to {:.1e} (relative, fp32)": self.output_difference,
            "best litebert / best transformers = {}": self.ratio,
            "/ transformers in fp32 = {}": self.ratio_to_fp32,
            "peak memory = {:.2f} of theirs": self.memory_ratio,
            "{}": self.note or None,
            "failed: {}": self.failed or None,
        }
        return "; ".join(form.format(value) for form, value in parts.items() if value is not None)


@dataclass
class Report:
    """All cases of one run."""

    machine: Machine
    precision: str
    matmul_flops: float
    """FLOP/s of a square product in this precision, measured in this run."""
    cases: list[Case] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        rates = {"matmul_flops": self.matmul_flops, "peak_flops": self.machine.peak_flops}
        return {
            "machine": asdict(self.machine),
            "precision": self.precision,
            "matmul_flops": self.matmul_flops,
            "cases": [case.to_dict(**rates) for case in self.cases],
        }

    def to_text(self) -> str:
        """For a person, in Markdown."""
        lines = [
            f"{self.machine.device}: matrix products in {self.precision} at {self.matmul_flops / 1e12:.3g} TFLOP/s",
            "",
            "| model | rows | batch | library | tokens/s | sequences/s | MFU | of measured matmul throughput "
            "| peak GiB |",
            "|" + " --- |" * 9,
        ]
        lines += [self._line(case, row) for case in self.cases for row in case.rows]
        for case in self.cases:
            lines += ["", f"{case.model}, {case.kind} rows of {case.length}: {case.verdict()}"]
        return "\n".join(lines)

    def _line(self, case: Case, row: Row) -> str:
        figures = row.fastest
        head = f"| {case.model} | {case.kind}, {case.length} | {figures.batch_size if figures else ''} | "
        head += f"{row.library}, {row.variant} |"
        if figures is None:
            return f"{head} {row.note} | | | | |"
        seconds, peak, memory = figures.timing.seconds_a_step, self.machine.peak_flops, figures.timing.peak_bytes
        mfu = f"{figures.flops_per_second / peak:.1%}" if peak else ""
        gibibytes = "" if memory is None else f"{memory / 2**30:.1f}"
        rates = f"{figures.tokens_per_second:,.0f} | {figures.batch_size / seconds:,.1f}"
        return f"{head} {rates} | {mfu} | {figures.flops_per_second / self.matmul_flops:.1%} | {gibibytes} |"
