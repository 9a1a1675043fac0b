"""Words of a running text with their positions, for token classification."""

import re
from functools import cache

from litebert.tokenization.letters import combining_marks, word_expression
from litebert.tokenization.normalize import Span


def word_spans(text: str) -> list[Span]:
    """The position of each word: a run of letters and digits, or one other sign, with its combining marks.

    Punctuation is separate, as in CoNLL 2003.
    """
    return [match.span() for match in _word().finditer(text)]


@cache  # not at import: the combining marks take 20 ms
def _word() -> re.Pattern[str]:
    return re.compile(rf"{word_expression()}|[^\w\s][{combining_marks()}]*")
