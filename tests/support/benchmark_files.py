"""Published layouts in files of a few rows, over the opinions of `labelled_files`."""

import json

from support.labelled_files import OPINIONS, SUBJECTS

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
