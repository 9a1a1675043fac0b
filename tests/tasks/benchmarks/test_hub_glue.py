"""GLUE in the Parquet files of the hub reads as in the official TSV files."""

import pytest

from litebert.errors import DataError
from litebert.tasks.benchmarks.benchmark_files import BenchmarkSplit, available_splits, read_benchmark
from litebert.tasks.benchmarks.benchmarks import BENCHMARKS, benchmark_task

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
parquet = pytest.importorskip("pyarrow.parquet")

WNLI = ("wnli", ("sentence1", "sentence2"), ["0", "1"])
HUB = {
    "cola": ("cola", ("sentence",), ["0", "1"]),
    "sst-2": ("sst2", ("sentence",), ["0", "1"]),
    "mrpc": ("mrpc", ("sentence1", "sentence2"), ["0", "1"]),
    "sts-b": ("stsb", ("sentence1", "sentence2"), [3.8, 0.4, 5.0]),
    "qqp": ("qqp", ("question1", "question2"), ["0", "1"]),
    "mnli": ("mnli", ("premise", "hypothesis"), ["entailment", "neutral", "contradiction"]),
    "qnli": ("qnli", ("question", "sentence"), ["entailment", "not_entailment"]),
    "rte": ("rte", ("sentence1", "sentence2"), ["entailment", "not_entailment"]),
    "wnli": WNLI,
    "wnli-pronouns": WNLI,
    "ax": ("ax", ("premise", "hypothesis"), ["entailment", "neutral", "contradiction"]),
}
"""Folder, columns and labels, in the order of their numbers, as the card of nyu-mll/glue has them."""
HUB_SPLITS = {"dev": "validation", "dev-mismatched": "validation_mismatched", "test-mismatched": "test_mismatched"}
MNLI_SPLITS = {"dev": "validation_matched", "test": "test_matched"}
SPLITS = [(name, split) for name in HUB for split in BENCHMARKS[name].splits]
TEXTS = ('Tom said "yes" to Bob because he was glad.', "Tom was glad. ", "Bob’s 1,5")


def hub_file(folder, name, columns, labels, *, first=0):
    """A Parquet file with a row for each label; a score is stored in 32 bits."""
    kind = pyarrow.float32() if isinstance(labels[0], float) else pyarrow.int64()
    texts = {column: [TEXTS[(n + k) % 3] for n in range(len(labels))] for k, column in enumerate(columns)}
    ids = list(range(first, first + len(labels)))
    folder.mkdir(parents=True, exist_ok=True)
    rows = pyarrow.table({**texts, "label": pyarrow.array(labels, kind), "idx": pyarrow.array(ids, pyarrow.int32())})
    parquet.write_table(rows, folder / name)
    return folder / name


def official_file(root, task, split, labels):
    """The same rows in the official layout."""
    file = task.splits[split]
    is_test = file.submitted_as is not None
    names = [name for name in (task.id, task.text, task.text_pair, task.label) if name]
    columns = file.names or [name for name in names if name != task.label or not is_test]
    lines = [] if file.names else ["\t".join(columns)]
    for n, label in enumerate(labels):
        values = {task.id: str(n), task.text: TEXTS[n % 3], task.label: str(label)}
        values |= {task.text_pair: TEXTS[(n + 1) % 3]} if task.text_pair else {}
        lines.append("\t".join(values.get(name, "") for name in columns))
    path = root / task.folders[0] / file.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def rte(folder, name, labels, **options):
    return hub_file(folder, name, ("sentence1", "sentence2"), labels, **options)


@pytest.mark.parametrize(("name", "split"), SPLITS)
def test_rows_of_the_hub_read_as_those_of_the_official_file(tmp_path, name, split):
    task = benchmark_task(name)
    folder, columns, labels = HUB[name]
    official_file(tmp_path / "tsv", task, split, labels)
    numbers = list(range(len(labels))) if task.labels else labels
    if task.splits[split].submitted_as:
        numbers = [-1.0 if task.labels is None else -1] * len(labels)
    hub_split = (MNLI_SPLITS if name == "mnli" else {}).get(split) or HUB_SPLITS.get(split, split)
    hub_split = "test" if split == "diagnostic" else hub_split
    hub_file(tmp_path / "hub" / folder, f"{hub_split}-00000-of-00001.parquet", columns, numbers)
    official, hub = (read_benchmark(name, tmp_path / place, split) for place in ("tsv", "hub"))
    assert hub.examples == official.examples
    assert (hub.labels, hub.fingerprint) == (official.labels, official.fingerprint)
    assert available_splits(name, tmp_path / "hub", start=split) == (split,)


@pytest.mark.parametrize("folder", ["rte", "RTE", "."])
def test_hub_files_are_found_in_every_folder_of_a_task(tmp_path, folder):
    path = rte(tmp_path / folder, "validation-00000-of-00001.parquet", [1, 0])
    assert BenchmarkSplit(task="rte", split="dev").path(tmp_path) == path
    assert [each.target for each in read_benchmark("rte", tmp_path, "dev").examples] == [1, 0]


def test_official_file_is_read_before_those_of_the_hub(tmp_path):
    official_file(tmp_path, benchmark_task("rte"), "train", ["entailment"])
    rte(tmp_path / "rte", "train-00000-of-00001.parquet", [1, 0])
    rte(tmp_path / "RTE", "train-00000-of-00001.parquet", [1, 0])
    assert read_benchmark("rte", tmp_path, "train").path.name == "train.tsv"


def test_split_of_the_hub_in_parts_is_read_whole(tmp_path):
    parts = [
        rte(tmp_path / "rte", f"train-0000{n}-of-00002.parquet", labels, first=2 * n)
        for n, labels in enumerate([[0, 1], [1, 1]])
    ]
    data = read_benchmark("rte", tmp_path, "train")
    assert ([each.target for each in data.examples], data.lines) == ([0, 1, 1, 1], (1, 2, 3, 4))
    assert BenchmarkSplit(task="rte", split="train").paths(tmp_path) == parts
    parts[0].unlink()
    with pytest.raises(DataError, match=r"train-00000-of-00002\.parquet: no such file, .* download all 2 parts"):
        read_benchmark("rte", tmp_path, "train")


def test_parquet_file_of_your_own_replaces_a_split(tmp_path):
    path = rte(tmp_path / "elsewhere", "mine.parquet", [1, 0])
    data = BenchmarkSplit(task="rte", split="dev", file=str(path)).read(tmp_path)
    assert [each.target for each in data.examples] == [1, 0]
    rte(tmp_path / "rte", "few.parquet", [0])
    (example,) = read_benchmark("rte", tmp_path, "train", files={"train": "few.parquet"}).examples
    assert example.target == 0


def test_labels_of_the_hub_are_in_the_order_of_a_model(tmp_path):
    rte(tmp_path / "rte", "validation-00000-of-00001.parquet", [0, 1])
    data = read_benchmark("rte", tmp_path, "dev", labels=("not_entailment", "entailment"))
    assert [each.target for each in data.examples] == [1, 0]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 2], r"mine\.parquet:2: field 'label': unknown label 2; expected 0 to 1, or -1"),
        ([0, -1], r"mine\.parquet:2: field 'label': 1 of 2 rows have no label \(-1\); .*`predict`"),
    ],
)
def test_wrong_label_of_a_hub_file_is_an_error(tmp_path, labels, message):
    rte(tmp_path, "mine.parquet", labels)
    with pytest.raises(DataError, match=message):
        read_benchmark("rte", tmp_path, "dev", files={"dev": "mine.parquet"})


def test_hub_file_of_another_task_is_an_error(tmp_path):
    rte(tmp_path, "train-00000-of-00001.parquet", [0, 1])
    with pytest.raises(DataError, match=r"no column 'premise'; it has 'sentence1', .*'mnli' of nyu-mll/glue"):
        read_benchmark("mnli", tmp_path, "train")


def test_missing_split_names_the_file_of_the_hub_too(tmp_path):
    with pytest.raises(
        DataError, match=r"found neither MNLI/dev_mismatched\.tsv .*'mnli' with validation_mismatched-0"
    ):
        read_benchmark("mnli", tmp_path, "dev-mismatched")
