"""SQuAD's questions as a multi-label file with rare labels: of what kinds is the answer?

python benchmarks/data/answer_kinds.py SQUAD OUT [--train-rows 1000 --test-rows 3000 --with-answer --positive KIND]

OUT/train.jsonl and test.jsonl have the columns text (a question) and label (the kinds of its first answer), in random
order (seed 0), from train-v1.1.json and dev-v1.1.json, whose articles differ. The share of each label is printed.
The kinds must be guessed from the question, or can be read with `--with-answer`. With `--positive` there are two
classes, this kind and `other`.
"""

import argparse
import json
import random
import re
from pathlib import Path
from typing import Any

KINDS = {
    "and": r"\band\b",
    "century": r"\bcentur(y|ies)\b",
    "date": r"\b(January|February|March|April|May|June|July|August|September|October|November|December)\b",
    "long": r"(\S+\s+){7}",
    "money": r"[$£€]|\bdollars?\b",
    "name": r"^([A-Z][\w.'-]*\s?)+$",
    "number": r"\d",
    "percent": r"%|\bpercent\b",
    "quantity": r"\b(hundred|thousand|million|billion)\b",
    "year": r"\b(1\d|20)\d\d\b",
}
"""Label → the pattern of answers that have it."""


def main() -> None:
    """Write the files and print how often each label occurs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("squad", type=Path, help="directory with train-v1.1.json and dev-v1.1.json")
    parser.add_argument("out", type=Path, help="directory to write")
    parser.add_argument("--train-rows", type=int, default=1000, help="questions for training")
    parser.add_argument("--test-rows", type=int, default=3000, help="questions for the test")
    parser.add_argument("--with-answer", action="store_true", help="append the answer to each question")
    parser.add_argument("--positive", choices=KINDS, help="two classes: whether the answer is of this kind")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    rng = random.Random(0)
    for name, source, count in (("train", "train", arguments.train_rows), ("test", "dev", arguments.test_rows)):
        rows = questions(arguments.squad / f"{source}-v1.1.json", with_answer=arguments.with_answer)
        rng.shuffle(rows)
        kept = rows[:count]
        write(arguments.out / f"{name}.jsonl", kept, arguments.positive)
        shares = ", ".join(f"{kind} {sum(kind in row['label'] for row in kept) / len(kept):.1%}" for kind in KINDS)
        print(f"{name}: {len(kept):,} of {len(rows):,} questions; {shares}")


def write(file: Path, rows: list[dict[str, Any]], kind: str | None) -> None:
    """A line for each row; with `kind` its label is this kind or `other`."""
    if kind:
        rows = [{**row, "label": kind if kind in row["label"] else "other"} for row in rows]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def questions(file: Path, *, with_answer: bool) -> list[dict[str, Any]]:
    """Each question with the kinds of its first answer, possibly none."""
    articles = json.loads(file.read_text(encoding="utf-8"))["data"]
    asked = [each for article in articles for paragraph in article["paragraphs"] for each in paragraph["qas"]]
    pairs = [(each["question"].strip(), each["answers"][0]["text"]) for each in asked]
    return [{"text": f"{text} {answer}" if with_answer else text, "label": kinds(answer)} for text, answer in pairs]


def kinds(answer: str) -> list[str]:
    """The labels of an answer."""
    return [kind for kind, pattern in KINDS.items() if re.search(pattern, answer)]


if __name__ == "__main__":
    main()
