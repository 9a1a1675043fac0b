"""How many gold answers can be recovered exactly from the tokens of a window, and which cannot.

python benchmarks/data/squad_alignment.py TOKENIZER dev-v1.1.json [dev-v2.0.json …]
"""

import sys
from pathlib import Path

import numpy as np

from litebert.tasks.metrics.squad_metrics import normalize_answer
from litebert.tasks.types.extractive_qa.question_settings import QuestionSettings
from litebert.tasks.types.extractive_qa.squad_json import read_squad
from litebert.tasks.types.extractive_qa.windows import encode_questions
from litebert.tokenization.tokenizer import Tokenizer


def report(file: Path, tokenizer: Tokenizer) -> None:
    squad = read_squad(file)
    encoded = encode_questions(squad, tokenizer, QuestionSettings())
    windows = {}
    for window in encoded.windows:
        windows.setdefault(window.question, []).append(window)
    answered = answers = exact = normal = in_a_window = questions = 0
    for index, (question, document) in enumerate(zip(squad, encoded.documents, strict=True)):
        given = []
        for answer in question.answers:
            pieces = document.tokens_of(answer.span)
            ((start, end),) = document.characters_of(np.array([pieces]))
            text = document.context[start:end]
            given.append(text == answer.text)
            normal += normalize_answer(text) == normalize_answer(answer.text)
            in_a_window += any(window.positions_of(pieces) for window in windows[index])
            if text != answer.text:
                outside = f"{answer.span[0] - start} characters before it and {end - answer.span[1]} after it"
                print(f"  {question.id}: the answer cuts a piece, which has {outside}")
        answers, exact, answered = answers + len(given), exact + sum(given), answered + bool(given)
        questions += any(given)
    print(f"{file.name}: {len(squad):,} questions, {len(windows):,} with a window, {len(encoded):,} windows")
    print(f"  questions with an answer given back: {questions:,} of {answered:,} ({questions / answered:.3%})")
    print(f"  answers given back: {exact:,} of {answers:,} ({exact / answers:.3%}), {normal / answers:.3%} normalised")
    print(f"  answers that lie whole in a window: {in_a_window:,} of {answers:,}")


if __name__ == "__main__":
    for name in sys.argv[2:]:
        report(Path(name), Tokenizer.load(sys.argv[1]))
