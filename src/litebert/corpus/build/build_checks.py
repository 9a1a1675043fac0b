"""Checks of a finished build: empty splits, overlap of the splits, unknown tokens."""

import logging
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.format.shards import SPLITS, Corpus, ShardEntry, Split, read_description
from litebert.corpus.format.verification import find_split_overlap
from litebert.corpus.readers.documents import Document
from litebert.errors import ConfigError, DataError
from litebert.hub_datasets import is_dataset_name

logger = logging.getLogger(__name__)

UNKNOWN_SHARE = 0.01
"""A warning is logged for a larger share of unknown tokens; with a suitable vocabulary it is below 0.001."""
SAMPLE_CHARS = 10_000


def refuse_common_files(sources: Sequence[str]) -> None:
    """Raise a ConfigError if a file was found twice: among the validation files and among the others."""
    counts = Counter(source if is_dataset_name(source) else Path(source).resolve() for source in sources)
    for source, count in counts.items():
        if count > 1:
            raise ConfigError(
                f"{source}: is in the training text and in the validation files; remove it from one of them"
            )


def refuse_empty_validation(
    out: Path, entries: Mapping[Split, Sequence[ShardEntry]], settings: CorpusSettings, *, has_validation_files: bool
) -> None:
    """Raise a DataError if a validation split was requested but has no documents."""
    if entries["validation"] or not (settings.validation_fraction or has_validation_files):
        return
    documents = sum(entry.documents for entry in entries["train"])
    raise DataError(
        f"{out}: not built, because the validation split has no documents (validation_fraction "
        f"{settings.validation_fraction} of {documents:,} documents); raise validation_fraction, give "
        "validation files, or set validation_fraction=0 for a corpus without a validation split"
    )


def warn_overlap(corpus: Path) -> None:
    """Log a warning if documents of the training split are, equal or similar, in the validation split."""
    description = read_description(corpus)
    overlap = find_split_overlap(*(Corpus(corpus, split, description) for split in SPLITS))
    if overlap.equal or overlap.similar:
        advice = "so validation scores will be too high; remove them with dedup_minhash_threshold=0.8"
        logger.warning("%s: %s, %s", corpus, overlap.to_text(), advice)


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
