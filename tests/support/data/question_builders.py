"""Questions about films, small enough to check by eye."""

import json
from pathlib import Path

from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.questions import GoldAnswer, Question
from litebert.tasks.types.extractive_qa.extractive_qa import with_task_type
from litebert.tasks.types.extractive_qa.question_settings import QuestionSettings
from litebert.tasks.types.extractive_qa.windows import EncodedQuestions, encode_questions

CONTEXT = "The old actor felt dull, in 1999. Her first play was good, in 2024."


def question(name, text, *answers, context=CONTEXT, **options):
    """A question whose answers are at their first occurrence in the context."""
    golds = tuple(GoldAnswer(text=answer, start=context.index(answer)) for answer in answers)
    return Question(id=name, text=text, context=context, answers=golds, **options)


QUESTIONS = (
    question("q1", "Who felt dull?", "The old actor", "old actor"),
    question("q2", "When was the play?", "2024", "in 2024"),
    question("q3", "What was good?", "Her first play"),
    question("q4", "Who is wonderful?"),
)


def labelled(questions=QUESTIONS, task_type=None) -> LabelledData:
    path = Path("films.json")
    result = with_task_type(path, questions, task_type)
    return LabelledData(path, result.task_type or "", tuple(questions), None, result.reason or "as set")


def encoded(tokenizer, questions=QUESTIONS, **settings) -> EncodedQuestions:
    return encode_questions(questions, tokenizer, QuestionSettings(**{"max_length": 48, **settings}))


def squad_json(*questions):
    """One paragraph in the layout of SQuAD 2.0."""
    listed = [
        {
            "id": each.id,
            "question": each.text,
            "answers": [{"text": answer.text, "answer_start": answer.start} for answer in each.answers],
            "is_impossible": not each.answers,
        }
        for each in questions
    ]
    return {"version": "v2.0", "data": [{"title": "Films", "paragraphs": [{"context": CONTEXT, "qas": listed}]}]}


def write_squad(path, content):
    path.write_text(json.dumps(content), encoding="utf-8")
    return path
