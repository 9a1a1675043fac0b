"""RACE's articles as a labelled file of long texts: is an article read in middle or in high school?

python benchmarks/data/race_levels.py RACE OUT [--train-articles 2000]

OUT/train.jsonl, dev.jsonl and test.jsonl have the columns text and label, a row for each different article of a split,
in random order (seed 0); those of training are the first ones.
"""

import argparse
import json
import random
from pathlib import Path

LEVELS = ("middle", "high")


def main() -> None:
    """Write the files and print how many articles each has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("race", type=Path, help="directory with train, dev and test")
    parser.add_argument("out", type=Path, help="directory to write")
    parser.add_argument("--train-articles", type=int, default=2000, help="articles for training")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    rng = random.Random(0)
    for split in ("train", "dev", "test"):
        rows = articles(arguments.race / split)
        rng.shuffle(rows)
        kept = rows[: arguments.train_articles] if split == "train" else rows
        lines = "".join(json.dumps(row) + "\n" for row in kept)
        (arguments.out / f"{split}.jsonl").write_text(lines, encoding="utf-8")
        print(f"{split}: {len(kept):,} of {len(rows):,} articles")


def articles(split: Path) -> list[dict[str, str]]:
    """Each different article with its level; that of the last file where it is in several."""
    levels = {
        " ".join(json.loads(line)["article"].split()): level
        for level in LEVELS
        for file in sorted((split / level).glob("*.txt"))
        for line in file.read_text(encoding="utf-8").splitlines()
    }
    return [{"text": text, "label": level} for text, level in levels.items()]


if __name__ == "__main__":
    main()
