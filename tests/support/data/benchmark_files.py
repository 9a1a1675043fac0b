"""Published layouts in files of a few rows, over the opinions of `labelled_files`."""

import json

from litebert.tasks.benchmarks.benchmarks import BENCHMARKS
from support.data.labelled_files import OPINIONS, SUBJECTS

SENTENCES = [
    (f"{subject} {opinion}", int(name == "good"))
    for subject in SUBJECTS
    for name in OPINIONS
    for opinion in OPINIONS[name]
]


def write_cola(root):
    """CoLA with its three files; 0 is bad, 1 is good."""
    folder = root / "CoLA"
    folder.mkdir(parents=True)
    for name in ("train", "dev"):
        (folder / f"{name}.tsv").write_text("".join(f"src\t{label}\t\t{text}\n" for text, label in SENTENCES))
    tests = "".join(f"{number}\t{text}\n" for number, (text, _) in enumerate(SENTENCES))
    (folder / "test.tsv").write_text("index\tsentence\n" + tests)
    return root


def write_glue(root):
    """All tasks of GLUE with all their files."""
    for task in (task for task in BENCHMARKS.values() if task.format == "tsv"):
        labels = task.labels or ("1.5", "4.0")
        (root / task.folders[0]).mkdir(parents=True)
        for split, file in task.splits.items():
            is_labelled = split.startswith(("train", "dev"))
            values = [
                {task.id: str(n), task.text: text, task.text_pair: "the film", task.label: labels[good]}
                for n, (text, good) in enumerate(SENTENCES)
            ]
            named = [name for name in values[0] if name and (is_labelled or name != task.label)]
            columns = file.names if is_labelled and file.names else [*named, *filter(None, [task.slice])]
            lines = ["\t".join(value.get(name, "other") for name in columns) for value in values]
            header = [] if is_labelled and file.names else ["\t".join(columns)]
            (root / task.folders[0] / file.file).write_text("\n".join([*header, *lines]) + "\n")
    return root


def write_mnli(root):
    """Both development sets and tests of MNLI, and the diagnostics."""
    names = ("contradiction", "entailment", "neutral")
    for name in ("dev_matched", "dev_mismatched", "test_matched", "test_mismatched"):
        folder = root / "MNLI"
        folder.mkdir(parents=True, exist_ok=True)
        label = "\tgold_label" if name.startswith("dev") else ""
        rows = [f"{n}\tfiction\t{text}\tthe film" for n, (text, _) in enumerate(SENTENCES)]
        rows = [f"{row}\t{names[n % 3]}" if label else row for n, row in enumerate(rows)]
        (folder / f"{name}.tsv").write_text("\n".join([f"index\tgenre\tsentence1\tsentence2{label}", *rows]) + "\n")
    (root / "AX").mkdir()
    (root / "AX" / "diagnostic.tsv").write_text("index\tsentence1\tsentence2\n0\ta\tb\n")
    return root


def write_race(root):
    """A passage of two questions for each level and part."""
    for part in ("train", "dev", "test"):
        for level in ("middle", "high"):
            folder = root / "RACE" / part / level
            folder.mkdir(parents=True)
            passage = {
                "id": f"{level}1.txt",
                "article": "the film was good",
                "questions": ["the film was _.", "what was good"],
                "options": [["good", "bad", "dull", "awful"], ["the film", "the music", "a movie", "this story"]],
                "answers": ["A", "A"],
            }
            (folder / "1.txt").write_text(json.dumps(passage))
    return root
