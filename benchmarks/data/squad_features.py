"""SQuAD features, litebert and transformers' fast tokenizer, one thread each; the outputs are compared first.

python benchmarks/data/squad_features.py TOKENIZER dev-v1.1.json [QUESTIONS]

transformers prepares training data with the fast tokenizer, overflowing tokens and offsets, and a loop that finds the
tokens of the answer. Its stride is an overlap of 128 tokens; litebert's, as in google-research/albert, is the distance
of 128 tokens between the starts of two windows. Windows are therefore compared after cutting both by one rule.
"""

import os
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ.setdefault("RAYON_NUM_THREADS", "1")

import numpy as np
from transformers import AlbertTokenizerFast

from litebert.tasks.encoded import Feature
from litebert.tasks.questions import Question
from litebert.tasks.types.extractive_qa.question_settings import QuestionSettings
from litebert.tasks.types.extractive_qa.squad_json import read_squad
from litebert.tasks.types.extractive_qa.windows import EncodedQuestions, Window, encode_questions, plan_windows
from litebert.tokenization.tokenizer import Tokenizer

LENGTH, STRIDE, ROUNDS = 384, 128, 3
Ours = tuple[EncodedQuestions, Sequence[tuple[int, int, int]]]
"""Encoded questions, and the targets of their windows."""
Theirs = tuple[Any, list[tuple[int, int]]]
"""The output of a tokenizer of transformers, and the first and last token of the answer in each window."""


def litebert_features(questions: Sequence[Question], tokenizer: Tokenizer) -> Ours:
    """The windows and their labels."""
    encoded = encode_questions(questions, tokenizer, QuestionSettings(max_length=LENGTH, doc_stride=STRIDE))
    return encoded, encoded.targets


def transformers_features(questions: Sequence[Question], tokenizer: Any) -> Theirs:
    """The windows and, for each, the tokens of the first answer."""
    tokenized = tokenizer(
        [question.text for question in questions],
        [question.context for question in questions],
        truncation="only_second",
        max_length=LENGTH,
        stride=STRIDE,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    labels = []
    for window, offsets in enumerate(tokenized["offset_mapping"]):
        question = questions[tokenized["overflow_to_sample_mapping"][window]]
        labels.append(_label(question, offsets, tokenized.sequence_ids(window)))
    return tokenized, labels


def _label(question: Question, offsets: list[tuple[int, int]], sequences: list[int | None]) -> tuple[int, int]:
    """As the widely used example script finds it."""
    if not question.answers:
        return 0, 0
    start, end = question.answers[0].span
    first, last = sequences.index(1), len(sequences) - 1 - sequences[::-1].index(1)
    if not (offsets[first][0] <= start and offsets[last][1] >= end):
        return 0, 0
    while first < len(offsets) and offsets[first][0] <= start:
        first += 1
    while offsets[last][1] >= end:
        last -= 1
    return first - 1, last + 1


def compare(questions: Sequence[Question], ours: Ours, theirs: Theirs) -> None:
    """Count the questions whose windows and labels agree, and those that differ, by the reason."""
    (encoded, our_labels), (tokenized, their_labels) = ours, theirs
    mine: dict[int, list[tuple[Window, tuple[int, int, int]]]] = {}
    for window, label in zip(encoded.windows, our_labels, strict=True):
        mine.setdefault(window.question, []).append((window, label))
    other: dict[int, list[int]] = {}
    for index, question in enumerate(tokenized["overflow_to_sample_mapping"]):
        other.setdefault(question, []).append(index)
    counts = {"same ids and answer": 0, "same ids, other answer": 0, "several windows": 0, "other pieces": 0}
    for index in range(len(questions)):
        first = mine[index][0][0].feature
        ids = [tokenized["input_ids"][window] for window in other[index]]
        if ids == [first.input_ids.tolist()] and len(mine[index]) == 1:
            same = mine[index][0][1][:2] == their_labels[other[index][0]]
            counts["same ids and answer" if same else "same ids, other answer"] += 1
        else:
            by_overlap = windows_by_overlap(encoded.documents[index].ids, first)
            counts["several windows" if by_overlap == ids else "other pieces"] += 1
    print(f"windows: litebert {len(encoded)}, transformers {len(tokenized['input_ids'])}")
    print(", ".join(f"{name} {count}" for name, count in counts.items()))


def windows_by_overlap(document: np.ndarray, first: Feature) -> list[list[int]]:
    """Ids of the windows of a document by the rule of transformers, with the question of litebert's first window."""
    query = first.token_type_ids.tolist().count(0) - 2
    room = LENGTH - query - 3
    head = first.input_ids[: query + 2].tolist()
    planned = plan_windows(len(document), budget=room, stride=room - STRIDE)
    return [[*head, *document[slice(*plan.tokens)].tolist(), head[-1]] for plan in planned]


def main(directory: str, file: str, most: str = "0") -> None:
    """Compare the features, then time both in turn."""
    questions = read_squad(Path(file))[: int(most) or None]
    tokenizer, fast = Tokenizer.load(directory), AlbertTokenizerFast.from_pretrained(directory)
    compare(questions, litebert_features(questions, tokenizer), transformers_features(questions, fast))
    contestants = {
        "litebert": partial(litebert_features, questions, tokenizer),
        "transformers": partial(transformers_features, questions, fast),
    }
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(ROUNDS):
        for name, features in contestants.items():
            plan_windows.cache_clear()
            started = time.process_time()
            features()
            times[name].append(time.process_time() - started)
    best = {name: min(values) for name, values in times.items()}
    for name, seconds in best.items():
        print(f"{name}: {seconds:.2f} s of processor time, {len(questions) / seconds:.0f} questions/s")
    of_rounds = [theirs / ours for ours, theirs in zip(times["litebert"], times["transformers"], strict=True)]
    ratio = best["transformers"] / best["litebert"]
    print(f"ratio {ratio:.1f} (rounds {min(of_rounds):.1f} to {max(of_rounds):.1f})")


if __name__ == "__main__":
    main(*sys.argv[1:])
