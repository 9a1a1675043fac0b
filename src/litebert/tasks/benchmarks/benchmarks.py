"""The benchmarks of the paper, one row each: files, columns, labels, metrics and official numbers of rows.

A new benchmark with named columns is a new row. Sources: gluebenchmark.com/tasks and run_classifier.py of
google-research/albert (label order), the RACE release (rows by level), the SQuAD files (questions).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

from litebert.errors import ConfigError, did_you_mean

Format = Literal["tsv", "pronouns", "race", "squad"]
"""`pronouns`: pairs in a .tsv file, read as a pronoun with a phrase for it."""
Decision = Literal["classify", "rank"]
"""`rank`: of the candidates of a question a single one is positive."""
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
    score_range: tuple[float, float] | None = None
    """Scores outside it are refused by the leaderboard."""
    ranked_label: str | None = None
    """Label of the one positive candidate where the pairs with the same first text can be ranked."""
    metrics: tuple[str, ...] = ("accuracy",)
    """Those of the leaderboard; the first selects the best model, as in the paper."""
    format: Format = "tsv"
    skip_misfits: bool = False
    """Skip rows with a wrong number of fields, as google-research/albert does."""
    levels: tuple[str, ...] = ()
    """Folders of the levels in each split."""


_BINARY: Final = ("0", "1")
_ENTAILMENT: Final = ("entailment", "not_entailment")
_THREE_WAY: Final = ("contradiction", "entailment", "neutral")
_AND_F1: Final = ("accuracy", "f1")
_MNLI_FILES: Final[dict[Split, BenchmarkFile]] = {
    "train": BenchmarkFile("train.tsv", 392_702),
    "dev": BenchmarkFile("dev_matched.tsv", 9815),
    "dev-mismatched": BenchmarkFile("dev_mismatched.tsv", 9832),
    "test": BenchmarkFile("test_matched.tsv", 9796, submitted_as="MNLI-m.tsv"),
    "test-mismatched": BenchmarkFile("test_mismatched.tsv", 9847, submitted_as="MNLI-mm.tsv"),
}


def _glue(
    title: str,
    rows: tuple[int, ...] = (),
    text: str = "sentence1",
    text_pair: str | None = "sentence2",
    *,
    columns: tuple[str, ...] = (),
    **others: Any,
) -> BenchmarkTask:
    """A task of GLUE with `rows` examples in its train, dev and test files; `columns` where train and dev name none."""
    splits: dict[Split, BenchmarkFile] = {}
    if rows:
        train, dev, test = rows
        splits["train"], splits["dev"] = (
            BenchmarkFile("train.tsv", train, columns),
            BenchmarkFile("dev.tsv", dev, columns),
        )
        splits["test"] = BenchmarkFile("test.tsv", test, submitted_as=f"{title}.tsv")
    values: dict[str, Any] = {"task_type": "classification", "folders": (title,), "splits": splits, **others}
    return BenchmarkTask(title=title, text=text, text_pair=text_pair, **values)


def _race(*levels: str, rows: tuple[int, int, int]) -> BenchmarkTask:
    names: tuple[Split, ...] = ("train", "dev", "test")
    return BenchmarkTask(
        title="RACE" if len(levels) > 1 else f"RACE {levels[0]}",
        task_type="multiple_choice",
        folders=("RACE",),
        splits={name: BenchmarkFile(name, count) for name, count in zip(names, rows, strict=True)},
        text="text",
        text_pair="text_pair",
        format="race",
        levels=levels,
    )


def _squad(version: str, task_type: str, train: int, dev: int) -> BenchmarkTask:
    rows: dict[Split, int] = {"train": train, "dev": dev}
    return BenchmarkTask(
        title=f"SQuAD {version}",
        task_type=task_type,
        folders=("SQuAD", "squad"),
        splits={name: BenchmarkFile(f"{name}-v{version}.json", count) for name, count in rows.items()},
        text="question",
        text_pair="context",
        label="answers",
        metrics=("answer_f1", "exact_match"),
        format="squad",
    )


BENCHMARKS: Final[Mapping[str, BenchmarkTask]] = MappingProxyType(
    {
        "cola": _glue(
            *("CoLA", (8551, 1043, 1063), "sentence", None),
            columns=("source", "label", "author's mark", "sentence"),
            labels=_BINARY,
            metrics=("matthews", "accuracy"),
        ),
        "sst-2": _glue("SST-2", (67_349, 872, 1821), "sentence", None, labels=_BINARY),
        "mrpc": _glue(
            *("MRPC", (3668, 408, 1725), "#1 String", "#2 String"), label="Quality", labels=_BINARY, metrics=_AND_F1
        ),
        "sts-b": _glue(
            *("STS-B", (5749, 1500, 1379)),
            task_type="regression",
            label="score",
            slice="genre",
            metrics=("pearson", "spearman"),
            score_range=(0.0, 5.0),
        ),
        "qqp": _glue(
            *("QQP", (363_846, 40_430, 390_965), "question1", "question2"),
            label="is_duplicate",
            id="id",
            labels=_BINARY,
            metrics=_AND_F1,
            skip_misfits=True,
        ),
        "mnli": _glue("MNLI", splits=_MNLI_FILES, label="gold_label", slice="genre", labels=_THREE_WAY),
        "qnli": _glue(
            *("QNLI", (104_743, 5463, 5463), "question", "sentence"), labels=_ENTAILMENT, ranked_label="entailment"
        ),
        "rte": _glue("RTE", (2490, 277, 3000), labels=_ENTAILMENT),
        "wnli": _glue("WNLI", (635, 71, 146), labels=_BINARY),
        "wnli-pronouns": _glue(
            *("WNLI", (635, 71, 146)), labels=_BINARY, task_type="pronoun_resolution", format="pronouns"
        ),
        "ax": _glue(
            "GLUE diagnostics",
            folders=("diagnostic", "AX"),
            splits={"diagnostic": BenchmarkFile("diagnostic.tsv", 1104, submitted_as="AX.tsv")},
            labels=_THREE_WAY,
            metrics=("matthews",),
        ),
        "race": _race("middle", "high", rows=(87_866, 4887, 4934)),
        "race-middle": _race("middle", rows=(25_421, 1436, 1436)),
        "race-high": _race("high", rows=(62_445, 3451, 3498)),
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
