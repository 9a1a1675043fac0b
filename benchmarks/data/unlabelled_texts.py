"""SST-2 as it would be with few labels: some labelled texts, many without a label, and the development set.

python benchmarks/data/unlabelled_texts.py SST-2 OUT [--labelled 2000] [--unlabelled 20000]
python benchmarks/data/unlabelled_texts.py --plain PREDICTED OUT

The first writes OUT/labelled.jsonl, unlabelled.jsonl and dev.jsonl, rows of the training set in random order (seed 0).
The second writes the predictions of `litebert predict` as plain labels, for a comparison with soft ones.
"""

import argparse
import csv
import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path

LABELS = {"0": "bad", "1": "good"}


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="directory with train.tsv and dev.tsv, or with --plain predictions")
    parser.add_argument("out", type=Path, help="directory to write, or with --plain a file")
    parser.add_argument("--labelled", type=int, default=2000, help="rows with a label")
    parser.add_argument("--unlabelled", type=int, default=20000, help="rows without one")
    parser.add_argument("--plain", action="store_true", help="write predictions as labels")
    arguments = parser.parse_args()
    if arguments.plain:
        rows = map(json.loads, arguments.source.read_text(encoding="utf-8").splitlines())
        write(arguments.out, ({"text": row["text"], "label": row["prediction"]} for row in rows))
        return
    train = read(arguments.source / "train.tsv")
    random.Random(0).shuffle(train)
    end = arguments.labelled + arguments.unlabelled
    arguments.out.mkdir(parents=True, exist_ok=True)
    write(arguments.out / "labelled.jsonl", train[: arguments.labelled])
    write(arguments.out / "unlabelled.jsonl", ({"text": row["text"]} for row in train[arguments.labelled : end]))
    write(arguments.out / "dev.jsonl", read(arguments.source / "dev.tsv"))


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a file of SST-2 with named labels."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [{"text": row["sentence"].strip(), "label": LABELS[row["label"]]} for row in rows]


def write(path: Path, rows: Iterable[Mapping[str, str]]) -> None:
    """Write JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
