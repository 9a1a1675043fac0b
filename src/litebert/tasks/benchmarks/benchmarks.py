"""The tasks of the paper, one row each: files, columns, labels, metrics, how many rows the official files have.

Before: nothing. After: `official` reads them. A new task with named columns is a new row.
Sources: gluebenchmark.com/tasks and the original run_classifier.py (label order), the RACE release (rows by level), the
SQuAD files (questions).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from litebert.errors import ConfigError
from litebert.tasks.readers.tables import did_you_mean
from litebert.tasks.task_type import Kind

Format = Literal["tsv", "race", "squad"]
Split = Literal["train", "dev", "dev-mismatched", "test", "test-mismatched", "diagnostic"]


@dataclass(frozen=True, slots=True)
class BenchmarkFile:
    """One official file."""

    file: str
    """Its name in the folder of the task."""
    rows: int
    """Examples in it."""
    names: tuple[str, ...] = ()
    """Names of its columns, where its first line does not hold them."""
    submitted_as: str | None = None
    """Name of the file of answers that the leaderboard expects."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkTask:
    """A task as it was published."""

    title: str
    kind: Kind
    folders: tuple[str, ...]
    """Names under which its folder is known, the usual first."""
    parts: Mapping[Split, BenchmarkFile]
    text: str = "sentence1"
    """Column of the first text."""
    text_pair: str | None = "sentence2"
    label: str = "label"
    id: str = "index"
    """Column that numbers the rows of test files."""
    slice: str | None = None
    """Column of a genre."""
    labels: tuple[str, ...] | None = None
    """In the order of the original code."""
    metrics: tuple[str, ...] = ("accuracy",)
    """The leaderboard's; the first selects the best model, as the paper reports it."""
    format: Format = "tsv"
    skip_misfits: bool = False
    """Rows whose number of fields is wrong are left out, as the original code does."""
    levels: tuple[str, ...] = field(default=())
    """Folders of levels in each part."""


_BINARY: Final = ("0", "1")
_ENTAILMENT: Final = ("entailment", "not_entailment")
_THREE_WAY: Final = ("contradiction", "entailment", "neutral")
_COLA_COLUMNS: Final = ("source", "label", "author's mark", "sentence")


def _parts(train: int, dev: int, test: int, submitted_as: str) -> dict[Split, BenchmarkFile]:
    return {
        "train": BenchmarkFile("train.tsv", train),
        "dev": BenchmarkFile("dev.tsv", dev),
        "test": BenchmarkFile("test.tsv", test, submitted_as=submitted_as),
    }


def _race(levels: tuple[str, ...], rows: tuple[int, int, int]) -> BenchmarkTask:
    train, dev, test = (BenchmarkFile(name, count) for name, count in zip(("train", "dev", "test"), rows, strict=True))
    return BenchmarkTask(
        title="RACE" if len(levels) > 1 else f"RACE {levels[0]}",
        kind="multiple_choice",
        folders=("RACE",),
        parts={"train": train, "dev": dev, "test": test},
        format="race",
        levels=levels,
    )


def _squad(version: str, kind: Kind, train: int, dev: int) -> BenchmarkTask:
    return BenchmarkTask(
        title=f"SQuAD {version}",
        kind=kind,
        folders=("SQuAD", "squad"),
        parts={
            "train": BenchmarkFile(f"train-v{version}.json", train),
            "dev": BenchmarkFile(f"dev-v{version}.json", dev),
        },
        text="question",
        text_pair="context",
        label="answers",
        metrics=("answer_f1", "exact_match"),
        format="squad",
    )


TASKS: Final[Mapping[str, BenchmarkTask]] = MappingProxyType(
    {
        "cola": BenchmarkTask(
            title="CoLA",
            kind="classification",
            folders=("CoLA",),
            parts={
                "train": BenchmarkFile("train.tsv", 8551, names=_COLA_COLUMNS),
                "dev": BenchmarkFile("dev.tsv", 1043, names=_COLA_COLUMNS),
                "test": BenchmarkFile("test.tsv", 1063, submitted_as="CoLA.tsv"),
            },
            text="sentence",
            text_pair=None,
            labels=_BINARY,
            metrics=("matthews", "accuracy"),
        ),
        "sst-2": BenchmarkTask(
            title="SST-2",
            kind="classification",
            folders=("SST-2",),
            parts=_parts(67_349, 872, 1821, "SST-2.tsv"),
            text="sentence",
            text_pair=None,
            labels=_BINARY,
        ),
        "mrpc": BenchmarkTask(
            title="MRPC",
            kind="classification",
            folders=("MRPC",),
            parts=_parts(3668, 408, 1725, "MRPC.tsv"),
            text="#1 String",
            text_pair="#2 String",
            label="Quality",
            labels=_BINARY,
            metrics=("accuracy", "f1"),
        ),
        "sts-b": BenchmarkTask(
            title="STS-B",
            kind="regression",
            folders=("STS-B",),
            parts=_parts(5749, 1500, 1379, "STS-B.tsv"),
            label="score",
            slice="genre",
            metrics=("pearson", "spearman"),
        ),
        "qqp": BenchmarkTask(
            title="QQP",
            kind="classification",
            folders=("QQP",),
            parts=_parts(363_846, 40_430, 390_965, "QQP.tsv"),
            text="question1",
            text_pair="question2",
            label="is_duplicate",
            id="id",
            labels=_BINARY,
            metrics=("accuracy", "f1"),
            skip_misfits=True,
        ),
        "mnli": BenchmarkTask(
            title="MNLI",
            kind="classification",
            folders=("MNLI",),
            parts={
                "train": BenchmarkFile("train.tsv", 392_702),
                "dev": BenchmarkFile("dev_matched.tsv", 9815),
                "dev-mismatched": BenchmarkFile("dev_mismatched.tsv", 9832),
                "test": BenchmarkFile("test_matched.tsv", 9796, submitted_as="MNLI-m.tsv"),
                "test-mismatched": BenchmarkFile("test_mismatched.tsv", 9847, submitted_as="MNLI-mm.tsv"),
            },
            label="gold_label",
            slice="genre",
            labels=_THREE_WAY,
        ),
        "qnli": BenchmarkTask(
            title="QNLI",
            kind="classification",
            folders=("QNLI",),
            parts=_parts(104_743, 5463, 5463, "QNLI.tsv"),
            text="question",
            text_pair="sentence",
            labels=_ENTAILMENT,
        ),
        "rte": BenchmarkTask(
            title="RTE",
            kind="classification",
            folders=("RTE",),
            parts=_parts(2490, 277, 3000, "RTE.tsv"),
            labels=_ENTAILMENT,
        ),
        "wnli": BenchmarkTask(
            title="WNLI",
            kind="classification",
            folders=("WNLI",),
            parts=_parts(635, 71, 146, "WNLI.tsv"),
            labels=_BINARY,
        ),
        "ax": BenchmarkTask(
            title="GLUE diagnostics",
            kind="classification",
            folders=("diagnostic", "AX"),
            parts={"diagnostic": BenchmarkFile("diagnostic.tsv", 1104, submitted_as="AX.tsv")},
            labels=_THREE_WAY,
            metrics=("matthews",),
        ),
        "race": _race(("middle", "high"), (87_866, 4887, 4934)),
        "race-middle": _race(("middle",), (25_421, 1436, 1436)),
        "race-high": _race(("high",), (62_445, 3451, 3498)),
        "squad-v1.1": _squad("1.1", "spans", 87_599, 10_570),
        "squad-v2.0": _squad("2.0", "answerability", 130_319, 11_873),
    }
)


def official_task(name: str) -> BenchmarkTask:
    """The row of this name; ConfigError for another."""
    if name not in TASKS:
        raise ConfigError(f"task: unknown task {name!r}{did_you_mean(name, TASKS)}; known are {', '.join(TASKS)}")
    return TASKS[name]
