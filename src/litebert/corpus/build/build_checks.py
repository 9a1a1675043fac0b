"""Checks of a finished build: empty splits, overlap of the splits, unknown tokens."""

import logging
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from litebert.corpus.build.shard_writer import FEW_DOCUMENTS
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.format.shards import SPLITS, Corpus, ShardEntry, Split, read_description
from litebert.corpus.format.verification import find_split_overlap, overlap_advice
from litebert.corpus.readers.documents import Document
from litebert.errors import ConfigError, DataError
from litebert.hub_datasets import is_dataset_name

logger = logging.getLogger(__name__)

UNKNOWN_SHARE = 0.01
"""A warning is logged for a larger share of unknown tokens; with a suitable vocabulary it is below 0.001."""
SAMPLE_CHARS = 10_000
EXPECTED_DOCUMENTS = 5
"""Expected number of documents of a split that is not empty: it is empty with a probability of e⁻⁵, 0.7 %."""
LAYOUT_ADVICE = {
    "blank_line": "a document of a text file ends at a blank line (--documents blank_line), so put one between any two "
    "documents, set --documents line if every line is one, or write each document as a row of a .jsonl file",
    "line": "every line of a text file is a document (--documents line), so give files of more lines",
    "file": "a text file is one document (--documents file), so give more files, or put a blank line between any two "
    "documents and set --documents blank_line",
}
"""What to do if there are few documents, by `CorpusSettings.documents`."""
NO_TEXT = "its files have no text, or the filters removed it"
OTHER_SPLIT_ADVICE: Mapping[Split, str] = {
    "train": "set --validation-fraction 0, with --validation for validation files of their own",
    "validation": "give validation files with --validation, or set --validation-fraction 0 for a corpus without a "
    "validation split",
}


class EmptySplitError(DataError):
    """A split that was asked for has no documents."""


def refuse_common_files(sources: Sequence[str]) -> None:
    """Raise a ConfigError if a file was found twice: among the validation files and among the others."""
    counts = Counter(source if is_dataset_name(source) else Path(source).resolve() for source in sources)
    for source, count in counts.items():
        if count > 1:
            raise ConfigError(
                f"{source}: is in the training text and in the validation files; remove it from one of them"
            )


def refuse_empty_split(
    out: Path,
    entries: Mapping[Split, Sequence[ShardEntry]],
    settings: CorpusSettings,
    *,
    documents: int,
    requested: Mapping[Split, bool],
) -> None:
    """Raise EmptySplitError if a requested split has no documents; `documents` is the number of documents of both."""
    for split in SPLITS:
        if requested[split] and not entries[split]:
            raise EmptySplitError(
                f"{out}: not built, because the {split} split has no documents (documents: {documents:,}, "
                f"validation_fraction: {settings.validation_fraction}); {_cause(split, documents, settings)}; "
                f"or {OTHER_SPLIT_ADVICE[split]}"
            )


def _cause(split: Split, documents: int, settings: CorpusSettings) -> str:
    """Why a split has no documents, and what to do about it."""
    share = EXPECTED_DOCUMENTS / max(documents, FEW_DOCUMENTS)
    if not settings.validation_fraction:
        return NO_TEXT
    if documents < FEW_DOCUMENTS:
        return LAYOUT_ADVICE[settings.documents]
    if split == "validation":
        return f"raise validation_fraction to {share:.1g} or more"
    is_small = settings.validation_fraction <= 1 - share
    return NO_TEXT if is_small else f"lower validation_fraction to {1 - share:.1g} or less"


def warn_overlap(corpus: Path) -> None:
    """Log a warning if documents of the training split are, equal or similar, in the validation split."""
    description = read_description(corpus)
    overlap = find_split_overlap(*(Corpus(corpus, split, description) for split in SPLITS))
    if overlap.equal or overlap.similar:
        advice = overlap_advice(description)
        logger.warning("%s: %s, so validation scores will be too high; %s", corpus, overlap.to_text(), advice)


def warn_unknown_tokens(corpus: Path, *, unknown: int, tokens: int, scripts: Counter[str]) -> None:
    """Log a warning with the main script of the text if its vocabulary does not fit."""
    if unknown <= UNKNOWN_SHARE * tokens:
        return
    script = f", which is mostly {scripts.most_common(1)[0][0]} script" if scripts else ""
    problem = f"of the tokens are unknown, because the vocabulary does not fit the text{script}"
    advice = "train a tokenizer on the text with `litebert tokenizer train`"
    logger.warning("%s: %.1f %% %s; %s", corpus, 100 * unknown / tokens, problem, advice)


def count_scripts(documents: Iterable[Document], scripts: Counter[str]) -> Iterator[Document]:
    """The documents; letters of their first `SAMPLE_CHARS` characters are counted by script, such as Latin or Han."""
    for document in documents:
        if scripts.total() < SAMPLE_CHARS:
            letters = filter(str.isalpha, document.text()[:SAMPLE_CHARS])
            # The first word of the Unicode name of a letter is its script.
            words = (unicodedata.name(letter, "").partition(" ")[0] for letter in letters)
            scripts.update("Han" if word == "CJK" else word.title() for word in words if word)
        yield document
