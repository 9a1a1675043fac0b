"""The benchmarks of the paper, one row each: files, columns, labels, metrics and official numbers of rows.

A new benchmark with named columns is a new row. Sources: gluebenchmark.com/tasks and run_classifier.py of
google-research/albert (label order), the RACE release (rows by level), the SQuAD files (questions).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from litebert.errors import ConfigError
from litebert.tasks.readers.tables import did_you_mean

Format = Literal["tsv", "race", "squad"]
Split = Literal["train", "dev", "dev-mismatched", "test", "test-mismatched", "diagnostic"]


@dataclass(frozen=True, slots=True)
class BenchmarkFile:
    """An official file."""

    file: str
    """Its name in the folder of the task."""
    rows: int
    """Examples in it."""
    names: tuple[str, ...] = ()
    """Names of its columns, where its first line does not have them."""
    submitted_as: str | None = None
    """Name of the submission file for the leaderboard."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkTask:
    """A published task."""

    title: str
    task_type: str
    folders: tuple[str, ...]
    """Names of its folder, the usual one first."""
    splits: Mapping[Split, BenchmarkFile]
    text: str = "sentence1"
    """Column of the first text."""
    text_pair: str | None = "sentence2"
    label: str = "label"
    id: str = "index"
    """Column with the numbers of test examples."""
    slice: str | None = None
    """Column of a genre."""
    labels: tuple[str, ...] | None = None
    """In the order of google-research/albert."""
    metrics: tuple[str, ...] = ("accuracy",)
    """Those of the leaderboard; the first selects the best model, as in the paper."""
    format: Format = "tsv"
    skip_misfits: bool = False
    """Skip rows with a wrong number of fields, as google-research/albert does."""
    levels: tuple[str, ...] = field(default=())
    """Folders of the levels in each split."""


_BINARY: Final = ("0", "1")
_ENTAILMENT: Final = ("entailment", "not_entailment")
_THREE_WAY: Final = ("contradiction", "entailment", "neutral")
_COLA_COLUMNS: Final = ("source", "label", "author's mark", "sentence")


def _splits(train: int, dev: int, test: int, submitted_as: str) -> dict[Split, BenchmarkFile]:
    return {
        "train": BenchmarkFile("train.tsv", train),
        "dev": BenchmarkFile("dev.tsv", dev),
        "test": BenchmarkFile("test.tsv", test, submitted_as=submitted_as),
    }


def _race(levels: tuple[str, ...], rows: tuple[int, int, int]) -> BenchmarkTask:
    train, dev, test = (BenchmarkFile(name, count) for name, count in zip(("train", "dev", "test"), rows, strict=True))
    return BenchmarkTask(
        title="RACE" if len(levels) > 1 else f"RACE {levels[0]}",
        task_type="multiple_choice",
        folders=("RACE",),
        splits={"train": train, "dev": dev, "test": test},
        format="race",
        levels=levels,
    )


def _squad(version: str, task_type: str, train: int, dev: int) -> BenchmarkTask:
    return BenchmarkTask(
        title=f"SQuAD {version}",
        task_type=task_type,
        folders=("SQuAD", "squad"),
        splits={
            "train": BenchmarkFile(f"train-v{version}.json", train),
            "dev": BenchmarkFile(f"dev-v{version}.json", dev),
        },
        text="question",
        text_pair="context",
        label="answers",
        metrics=("answer_f1", "exact_match"),
        format="squad",
    )


BENCHMARKS: Final[Mapping[str, BenchmarkTask]] = MappingProxyType(
    {
        "cola": BenchmarkTask(
            title="CoLA",
            task_type="classification",
            folders=("CoLA",),
            splits={
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
            task_type="classification",
            folders=("SST-2",),
            splits=_splits(67_349, 872, 1821, "SST-2.tsv"),
            text="sentence",
            text_pair=None,
            labels=_BINARY,
        ),
        "mrpc": BenchmarkTask(
            title="MRPC",
            task_type="classification",
            folders=("MRPC",),
            splits=_splits(3668, 408, 1725, "MRPC.tsv"),
            text="#1 String",
            text_pair="#2 String",
            label="Quality",
            labels=_BINARY,
            metrics=("accuracy", "f1"),
        ),
        "sts-b": BenchmarkTask(
            title="STS-B",
            task_type="regression",
            folders=("STS-B",),
            splits=_splits(5749, 1500, 1379, "STS-B.tsv"),
            label="score",
            slice="genre",
            metrics=("pearson", "spearman"),
        ),
        "qqp": BenchmarkTask(
            title="QQP",
            task_type="classification",
            folders=("QQP",),
            splits=_splits(363_846, 40_430, 390_965, "QQP.tsv"),
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
            task_type="classification",
            folders=("MNLI",),
            splits={
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
            task_type="classification",
            folders=("QNLI",),
            splits=_splits(104_743, 5463, 5463, "QNLI.tsv"),
            text="question",
            text_pair="sentence",
            labels=_ENTAILMENT,
        ),
        "rte": BenchmarkTask(
            title="RTE",
            task_type="classification",
            folders=("RTE",),
            splits=_splits(2490, 277, 3000, "RTE.tsv"),
            labels=_ENTAILMENT,
        ),
        "wnli": BenchmarkTask(
            title="WNLI",
            task_type="classification",
            folders=("WNLI",),
            splits=_splits(635, 71, 146, "WNLI.tsv"),
            labels=_BINARY,
        ),
        "ax": BenchmarkTask(
            title="GLUE diagnostics",
            task_type="classification",
            folders=("diagnostic", "AX"),
            splits={"diagnostic": BenchmarkFile("diagnostic.tsv", 1104, submitted_as="AX.tsv")},
            labels=_THREE_WAY,
            metrics=("matthews",),
        ),
        "race": _race(("middle", "high"), (87_866, 4887, 4934)),
        "race-middle": _race(("middle",), (25_421, 1436, 1436)),
        "race-high": _race(("high",), (62_445, 3451, 3498)),
        "squad-v1.1": _squad("1.1", "extractive_qa", 87_599, 10_570),
        "squad-v2.0": _squad("2.0", "extractive_qa_no_answer", 130_319, 11_873),
    }
)


def benchmark_task(name: str) -> BenchmarkTask:
    """The benchmark of this name."""
    if name not in BENCHMARKS:
        raise ConfigError(
            f"task: unknown task {name!r}{did_you_mean(name, BENCHMARKS)}; expected one of {', '.join(BENCHMARKS)}"
        )
    return BENCHMARKS[name]
