"""The inputs of the methods of a `Predictor`, validated and as examples of a task type. Importing it loads no torch."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isnan
from numbers import Integral, Real
from typing import Any, Final

from litebert.errors import ConfigError
from litebert.tasks.labelled_data import Example
from litebert.tasks.questions import Question
from litebert.tasks.results import LETTERS
from litebert.tasks.types.multiple_choice.choice_examples import ChoiceExample
from litebert.tasks.types.pronoun_resolution.pronoun_examples import PronounExample, pronoun_examples
from litebert.tasks.types.token_classification.token_examples import TokenExample

Text = str | tuple[str, str]
"""A text, or a text and its pair."""
Sentence = str | Iterable[str]
"""A running text, or a list of words."""
Options = tuple[str, str | None, Sequence[str]]
"""A text, an optional question about it, and the options."""


def method_examples(method: str, inputs: Sequence[Any]) -> Sequence[Any]:
    """The examples of the task type for the inputs of one of its methods; examples are returned as they are.

    A method of a task type of your own has examples only.
    """
    are_plain = any(isinstance(each, Iterable) and not hasattr(each, "_fields") for each in inputs)
    return EXAMPLES[method](inputs) if are_plain and method in EXAMPLES else inputs


def text_examples(texts: Iterable[Text]) -> list[Example]:
    """An example for each text or pair of texts."""
    texts = validate_texts(texts)
    for number, text in enumerate(texts):
        parts = (text,) if isinstance(text, str) else text
        if (
            not isinstance(parts, tuple | list)
            or len(parts) not in (1, 2)
            or not all(isinstance(part, str) for part in parts)
        ):
            raise ConfigError(f"texts[{number}]: expected a text or a pair of texts, found {text!r:.80}")
    pairs = [(text,) if isinstance(text, str) else tuple(text) for text in texts]
    return [Example(text=text, text_pair=pair[0] if pair else None) for text, *pair in pairs]


def choice_examples(questions: Iterable[Options]) -> list[ChoiceExample]:
    """An example for each question; ConfigError unless all have equally many options."""
    questions = validate_texts(questions, name="questions")
    examples = [_choice_example(number, each) for number, each in enumerate(questions)]
    if not all(each.options for each in examples):
        raise ConfigError("questions: one of them has no options; remove it")
    if (most := max((len(each.options) for each in examples), default=0)) > len(LETTERS):
        raise ConfigError(f"questions: one of them has {most} options; give at most {len(LETTERS)}")
    if len({len(each.options) for each in examples}) > 1:
        raise ConfigError("questions: they have different numbers of options; predict them separately")
    return examples


def _choice_example(number: int, given: Any) -> ChoiceExample:
    if isinstance(given, tuple | list) and len(given) == 3:
        text, question, options = given
        are_listed = isinstance(options, Iterable) and not isinstance(options, str)
        listed = tuple(options) if are_listed else ()
        asked = () if question is None else (question,)
        if are_listed and all(isinstance(part, str) for part in (text, *asked, *listed)):
            return ChoiceExample(text=text, question=question, options=listed)
    raise ConfigError(
        f"questions[{number}]: expected (text, question or None, options), the options a list of texts; "
        f"found {given!r:.80}"
    )


def word_examples(sentences: Iterable[Sentence]) -> list[TokenExample]:
    """An example for each running text or list of words."""
    listed = validate_texts(sentences, name="sentences")
    return [_word_example(number, sentence) for number, sentence in enumerate(listed)]


def _word_example(number: int, given: Any) -> TokenExample:
    if isinstance(given, str):
        return TokenExample.of_text(given)
    if not isinstance(given, Iterable):
        raise ConfigError(f"sentences[{number}]: expected a text or a list of words, found {given!r:.80}")
    words = tuple(given)
    if not words:
        raise ConfigError(f"sentences[{number}]: has no words; remove it")
    for word in words:
        if not isinstance(word, str):
            raise ConfigError(f"sentences[{number}]: expected a list of words, found {word!r:.80} in it")
    return TokenExample(words=words)


def candidate_examples(pairs: Iterable[tuple[str, str]]) -> list[PronounExample]:
    """An example for each text with its repetition."""
    return pronoun_examples(text_examples(pairs))


def question_examples(questions: Iterable[tuple[str, str]]) -> list[Question]:
    """An example for each (question, context)."""
    pairs = enumerate(validate_pairs(questions, name="questions", parts="(question, context)"))
    return [Question(id=str(index), text=text, context=context) for index, (text, context) in pairs]


EXAMPLES: Final[dict[str, Callable[[Iterable[Any]], Sequence[Any]]]] = {
    "classify": text_examples,
    "classify_multi_label": text_examples,
    "regress": text_examples,
    "multiple_choice": choice_examples,
    "classify_tokens": word_examples,
    "resolve_pronouns": candidate_examples,
    "answer": question_examples,
}
"""Method of a task type → what makes the examples from its inputs."""


def validate_positive(name: str, value: int | None) -> None:
    """Raise ConfigError for an argument that is not a whole number of 1 or more; None is none."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ConfigError(f"{name}: {value!r}, expected a whole number")
    if value < 1:
        raise ConfigError(f"{name}: {value}, expected 1 or more")


def validate_threshold(value: float | None) -> None:
    """Raise ConfigError for a threshold that is not a number; None is none."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Real) or isnan(value):
        raise ConfigError(f"threshold: {value!r}, expected a number")


def validate_texts(texts: Iterable[Any], *, name: str = "texts") -> list[Any]:
    """`texts`, of the argument `name`, as a list, which can be read more than once; ConfigError for a single text."""
    if isinstance(texts, str):
        # os.path takes any text: one with a newline, or as long as a book.
        advice = "read the texts of that file into a list" if os.path.isfile(texts) else "put it into a list"  # noqa: PTH113
        raise ConfigError(f"{name}: expected a list of texts, found one text; {advice}")
    return _listed(texts, name)


def _listed(values: Any, name: str) -> list[Any]:
    """An iterable as a list, the rows of an array too; ConfigError for a table, whose iterator gives its columns."""
    if isinstance(values, Mapping) or hasattr(values, "columns") or hasattr(values, "column_names"):
        raise ConfigError(f"{name}: expected a list, found a {type(values).__name__}; give one column of it")
    if not isinstance(values, Iterable):
        raise ConfigError(f"{name}: expected a list, found a {type(values).__name__}")
    return [each.tolist() if hasattr(each, "tolist") else each for each in values]


def validate_single_texts(texts: Iterable[Any], *, name: str = "texts") -> list[str]:
    """`texts`, of the argument `name`, as a list; ConfigError unless each is a text, not a pair."""
    listed = validate_texts(texts, name=name)
    for number, text in enumerate(listed):
        if not isinstance(text, str):
            raise ConfigError(f"{name}[{number}]: expected a text, found {text!r:.80}")
    return listed


def validate_pairs(pairs: Iterable[Any], *, name: str = "pairs", parts: str = "two texts") -> list[tuple[str, str]]:
    """`pairs`, of the argument `name`, as a list; ConfigError unless each is two texts, which `parts` names."""
    listed = validate_texts(pairs, name=name)
    for number, pair in enumerate(listed):
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
            raise ConfigError(f"{name}[{number}]: expected {parts}, found {pair!r:.80}")
    return listed
