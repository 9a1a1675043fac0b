"""Examples of every task type from positional values, for tests with many of them."""

from litebert.tasks.labelled_data import Example
from litebert.tasks.types.multiple_choice.choice_examples import ChoiceExample
from litebert.tasks.types.token_classification.token_examples import TokenExample


def example(text, text_pair=None, target=None, group=None, **options):
    return Example(text=text, text_pair=text_pair, target=target, group=group, **options)


def choice(text, question, options, target=None, **others):
    return ChoiceExample(text=text, question=question, options=tuple(options), target=target, **others)


def tokens(words, target=None, **others):
    return TokenExample(words=tuple(words), target=target, **others)
