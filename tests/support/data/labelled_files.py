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
