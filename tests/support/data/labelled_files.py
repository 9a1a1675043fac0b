"""Small labelled files and settings that several tests of runs use."""

import json

OPINIONS = {"good": ("was good", "felt great", "is wonderful"), "bad": ("was bad", "felt dull", "is awful")}
SUBJECTS = ("the film", "this story", "the old actor", "the music", "her first play", "a long movie")


def write_opinions(path, *, labels=("bad", "good")):
    """A labelled row for each subject and opinion; TSV, CSV or JSONL by the ending."""
    rows = [
        {"text": f"{subject} {opinion}", "label": labels[name == "good"]}
        for subject in SUBJECTS
        for name, opinions in OPINIONS.items()
        for opinion in opinions
    ]
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        separator = {".tsv": "\t", ".csv": ","}[path.suffix]
        lines = [separator.join(rows[0]), *(separator.join(map(str, row.values())) for row in rows)]
        path.write_text("\n".join(lines) + "\n")
    return path


def write_pairs(path):
    """Pairs of opinions on one subject, labelled by whether they agree; TSV, three rows of each."""
    texts = {name: [f"{subject} {opinion}" for subject in SUBJECTS for opinion in OPINIONS[name]] for name in OPINIONS}
    pairs = [(one, other, "same") for one, other in zip(texts["good"], texts["good"][1:], strict=False)]
    pairs += [(one, other, "other") for one, other in zip(texts["good"], texts["bad"], strict=True)]
    lines = ["text\ttext_pair\tlabel", *("\t".join(row) for row in pairs * 3)]
    path.write_text("\n".join(lines) + "\n")
    return path
