"""Texts with a pronoun and candidate phrases for it, from pairs of sentences as in WNLI. Importing it loads no torch.

The second sentence of a pair repeats a clause of the first with a phrase in the place of the pronoun. Source: Kocijan
et al. (2019), "A Surprisingly Robust Trick for the Winograd Schema Challenge".
"""

import re
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from litebert.tasks.labelled_data import Example, normalized_text

Span = tuple[int, int]

LABELS: Final = ("0", "1")
"""1: the candidate is what the pronoun refers to. Those of WNLI."""
PRONOUNS: Final = frozenset(("he", "him", "his", "she", "her", "hers", "it", "its", "they", "them", "their"))
DETERMINERS: Final = frozenset(
    ("the", "a", "an", "this", "that", "these", "those", "my", "your", "his", "her", "its", "our", "their", "some")
)
_OTHER_FUNCTION_WORDS: Final = """
i me you we us who whom whose which what when where why how there here each every
and or but nor so because since although though if while after before until as than then
of in on at to from by with for about into over under through out up down off near
is are was were be been being am do does did has have had will would can could may might must
not no never very too just only also more most all any both
"""
FUNCTION_WORDS: Final = DETERMINERS | PRONOUNS | frozenset(_OTHER_FUNCTION_WORDS.split())
"""Words that end a noun phrase."""
MAX_PHRASE_WORDS: Final = 2
"""Most words of a noun phrase after its determiner."""
_WORD: Final = re.compile(r"\w+(?:['’]\w+)*")


@dataclass(frozen=True, kw_only=True, slots=True)
class PronounExample:
    """A text, its pronoun, and a phrase that may replace it."""

    text: str
    pronoun: Span
    """Characters of the pronoun in the text."""
    candidate: str
    others: tuple[str, ...] = ()
    """Phrases with which the candidate is compared."""
    target: int | None = None
    """1 if the pronoun refers to the candidate, else 0."""
    group: str | None = None
    slice: str | None = None
    id: str | None = None

    @property
    def texts(self) -> tuple[str | None, ...]:
        """The text and the candidate."""
        return self.text, self.candidate

    @property
    def text_pair(self) -> str:
        """The candidate, as the second text of a pair."""
        return self.candidate

    @property
    def identity(self) -> tuple[Any, ...]:
        """Texts, place of the pronoun and target; the other phrases follow from the texts."""
        return *self.texts, self.pronoun, self.target

    @property
    def split_key(self) -> Hashable:
        """Candidates for the pronouns of one text stay together, as far as an uncased model reads."""
        return normalized_text(self.text)

    def to_text(self) -> str:
        """The text with the pronoun marked, and the candidate."""
        start, end = self.pronoun
        return f"{self.text[:start]}[{self.text[start:end]}]{self.text[end:]}\n{self.candidate}"


def pronoun_examples(pairs: Sequence[Example]) -> list[PronounExample]:
    """Each pair of sentences as a pronoun with a candidate; the pairs with the same first sentence give the others."""
    aligned = [align(pair.text, pair.text_pair or "") for pair in pairs]
    examples = [
        PronounExample(
            **{name: getattr(pair, name) for name in ("text", "target", "group", "slice", "id")},
            pronoun=pronoun,
            candidate=candidate,
        )
        for pair, (pronoun, candidate) in zip(pairs, aligned, strict=True)
    ]
    return with_others(examples)


def with_others(examples: Sequence[PronounExample]) -> list[PronounExample]:
    """The examples, each with the candidates of the same pronoun and then the noun phrases of its text."""
    given: dict[tuple[str, Span], list[str]] = defaultdict(list)
    for each in examples:
        given[each.text, each.pronoun].append(each.candidate)
    return [
        replace(each, others=_other_phrases(each, [*given[each.text, each.pronoun], *noun_phrases(each.text)]))
        for each in examples
    ]


def align(text: str, hypothesis: str) -> tuple[Span, str]:
    """The pronoun of `text` and the phrase that stands in its place in `hypothesis`.

    It is the pronoun whose neighbours repeat most words at both ends of the hypothesis, the last of equals. Without a
    pronoun it is the last word.
    """
    words, repeated = list(_WORD.finditer(text)), list(_WORD.finditer(hypothesis))
    if not words or not repeated:
        return (len(text), len(text)), hypothesis.strip()
    lower, other = [each[0].lower() for each in words], [each[0].lower() for each in repeated]
    matches = [(0, len(words) - 1, 0, 0)]
    for index, word in enumerate(lower):
        if _before_apostrophe(word) in PRONOUNS:
            before = _longest(lower[:index], other[:-1], prefix=True)
            after = _longest(lower[index + 1 :], other[before + 1 :], prefix=False)
            matches.append((1 + before + after, index, before, after))
    _, index, before, after = max(matches)
    phrase = hypothesis[repeated[before].start() : repeated[len(repeated) - after - 1].end()]
    start = words[index].start()
    # "it's" is a pronoun and "is": only the pronoun is replaced.
    return (start, start + len(_before_apostrophe(words[index][0]))), _with_apostrophe(phrase, hypothesis)


def _before_apostrophe(word: str) -> str:
    return re.split("['’]", word)[0]


def _longest(neighbours: Sequence[str], words: Sequence[str], *, prefix: bool) -> int:
    """How many of the first words end the words before the pronoun, or of the last words begin those after it."""
    for count in range(min(len(neighbours), len(words)), 0, -1):
        found = neighbours[-count:] if prefix else neighbours[:count]
        if list(found) == list(words[:count] if prefix else words[-count:]):
            return count
    return 0


def _with_apostrophe(phrase: str, hypothesis: str) -> str:
    """The phrase with the apostrophe of a plural's possessive, which is no part of a word."""
    end = hypothesis.find(phrase) + len(phrase)
    return phrase + hypothesis[end] if phrase.endswith("s") and hypothesis[end : end + 1] in ("'", "’") else phrase


def noun_phrases(text: str) -> Iterator[str]:
    """Phrases that a small rule finds: names, and a determiner with one or two words that are no function words.

    A name is a run of capitalized words that are no function words. An article or possessive becomes `the`.
    """
    name: list[str] = []
    phrase: list[str] | None = None
    end = 0
    for match in _WORD.finditer(text):
        word, is_next = match[0], not text[end : match.start()].strip()
        end = match.end()
        is_content = word.lower() not in FUNCTION_WORDS and not re.search("n['’]t$", word)
        if name and not (is_next and is_content and word[0].isupper()):
            yield " ".join(name)
            name = []
        if phrase and not (is_next and is_content and len(phrase) < MAX_PHRASE_WORDS):
            yield " ".join(["the", *phrase])
            phrase = None
        if is_content and word[0].isupper():
            name.append(word)
        elif is_content and phrase is not None and (is_next or not phrase):
            phrase.append(word)
        if not is_content:
            phrase = [] if word.lower() in DETERMINERS else None
    if name:
        yield " ".join(name)
    if phrase:
        yield " ".join(["the", *phrase])


def _other_phrases(example: PronounExample, phrases: Sequence[str]) -> tuple[str, ...]:
    """The phrases that name something else than the candidate, each once, possessive where the candidate is."""
    own = _content(example.candidate)
    is_possessive = re.search("s?['’]s?$", example.candidate) is not None
    found: dict[frozenset[str], str] = {}
    for phrase in phrases:
        content = _content(phrase)
        if content and not (content <= own or own <= content):
            found.setdefault(content, _possessive(phrase) if is_possessive else phrase)
    return tuple(found.values())


def _content(phrase: str) -> frozenset[str]:
    """The words of a phrase that are no determiners, in lower case and without possessive endings."""
    words = (re.sub("['’]s?$", "", word.lower()) for word in re.findall(r"[\w'’]+", phrase))
    return frozenset(word for word in words if word and word not in DETERMINERS)


def _possessive(phrase: str) -> str:
    return phrase if re.search("s?['’]s?$", phrase) else f"{phrase}'" if phrase.endswith("s") else f"{phrase}'s"
