"""Printed output compared with what a page shows.

Numbers differ, because the page shows a run on real data and the tests one on small data; the words are the same:

- numbers, durations and sizes count as equal, and so does whether a step takes longer than its examples;
- notes, log messages, schedules, the examples of `corpus show` and lists of words are not compared, because they depend
  on the data or the length of the run;
- a line `…` stands for any lines.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

NUMBER = r"[-+]?(?<!\w)\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"
MASKS = (
    (re.compile(rf"(?:{NUMBER} (?:seconds?|minutes?|min|hours?|h|s)\b ?)+"), "<duration> "),
    (re.compile(rf"{NUMBER} (?:bytes|[kKMGT](?:i?B)?)\b"), "<size>"),
    (re.compile(NUMBER), "<number>"),
    (re.compile(r"less than (?=<number>)"), ""),  # of the passes over a corpus
    (re.compile(r" \(slower than the step: [^)]*\)"), ""),  # of `pretrain --dry-run`, on fast machines
    (re.compile(r" +"), " "),
)
VARYING = re.compile(
    r"note: |\d\d:\d\d:\d\d |learning rate: |unknown tokens: |  (?:unknown|most split words): "
    r"|[AB]  |\((?:swapped|in order|no label)\)"  # of `corpus show`
)
ANY_LINES = "…"


def masked(line: str) -> str:
    for pattern, mask in MASKS:
        line = pattern.sub(mask, line)
    return line.strip()


def compared(lines: Sequence[str]) -> list[str]:
    """The lines that are compared, masked."""
    return [masked(line) for line in lines if line.strip() and not VARYING.match(line)]


def is_same_output(shown: Sequence[str], printed: Sequence[str]) -> bool:
    parts = [[]]
    for line in compared(shown):
        parts.append([]) if line == ANY_LINES else parts[-1].append(line)
    pattern = r"(?:.*\n)*".join("".join(re.escape(line + "\n") for line in part) for part in parts)
    return re.fullmatch(pattern, "".join(line + "\n" for line in compared(printed))) is not None


def updated_output(shown: Sequence[str], printed: Sequence[str]) -> list[str]:
    """The printed lines; those that the page shows with other numbers stay, and so do lines that are not compared."""
    shown, printed = list(shown), [line for line in printed if line.strip() and not VARYING.match(line)]
    matcher = SequenceMatcher(None, list(map(masked, shown)), list(map(masked, printed)), autojunk=False)
    result = []
    for kind, old, old_end, new, new_end in matcher.get_opcodes():
        if kind == "equal" or ANY_LINES in shown[old:old_end]:
            result += shown[old:old_end]
        else:
            result += printed[new:new_end] + [line for line in shown[old:old_end] if VARYING.match(line)]
    return result
