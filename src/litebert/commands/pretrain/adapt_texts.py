"""The texts of a domain, as a corpus in the run directory of `litebert adapt`."""

import glob
import logging
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from litebert.commands.fingerprint import fingerprint_of
from litebert.commands.pretrain.adapt_settings import AdaptRun
from litebert.corpus.build.build_checks import EmptySplitError
from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.readers.documents import Document, find_files, read_documents
from litebert.corpus.readers.folders import files_below
from litebert.corpus.readers.text_readers import FOLDER_ENDINGS
from litebert.errors import ConfigError, DataError
from litebert.files import locked, read_json_object, write_json
from litebert.hub_datasets import is_dataset_name
from litebert.tasks.readers.tables import iter_tables
from litebert.tasks.readers.text_files import format_ending
from litebert.tokenization.tokenizer import Tokenizer

TABLES: Final = (".csv", ".tsv", ".jsonl", ".parquet")
"""Endings of files whose rows are documents."""
ENDINGS: Final = (*FOLDER_ENDINGS, ".csv", ".tsv", ".csv.gz", ".tsv.gz")
"""Endings of the files that are read of a directory."""
RECORD: Final = "texts.json"
"""File beside the corpus with the fingerprint of its texts."""
ROWS_AT_A_TIME: Final = 1024
VALIDATION_FRACTION: Final = 0.02

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class DomainTexts:
    """Files of text, and the settings of the corpus that is built of them."""

    tables: Sequence[Path]
    files: Sequence[Path]
    """All others, and data sets of the hub."""
    column: str
    settings: CorpusSettings

    @classmethod
    def of(cls, run: AdaptRun) -> Self:
        """Those of a run; DataError for a file that does not exist, has no such column or an unknown format."""
        paths = [path for pattern in run.texts for path in _paths(pattern)]
        tables = {path.resolve(): path for path in paths if _is_table(path)}
        for table in tables.values():
            next(iter_tables(table, rows_per_table=1)).require(run.text)
        files = find_files([path for path in paths if not _is_table(path)])
        settings = CorpusSettings(
            documents=run.documents, text_key=run.text, dedup_exact=True, validation_fraction=VALIDATION_FRACTION
        )
        # The same files, named in another way, are the same texts.
        return cls([tables[path] for path in sorted(tables)], sorted(files, key=Path.resolve), run.text, settings)

    def documents(self) -> Iterator[Document]:
        """A document for each row of the tables, then those of the other files."""
        for table in self.tables:
            for part in iter_tables(table, rows_per_table=ROWS_AT_A_TIME):
                for row, text in zip(part.rows, part.texts(self.column), strict=True):
                    yield Document(f"{table}:{row.line}", tuple(filter(None, map(str.strip, text.splitlines()))))
        yield from read_documents(self.files, self.settings, Counter())

    def fingerprint(self, tokenizer: Tokenizer) -> str:
        """Of the settings, the tokenizer, the content of the files and the names of data sets of the hub."""
        sets = [str(file) for file in self.files if is_dataset_name(file)]
        local = [*self.tables, *(file for file in self.files if not is_dataset_name(file))]
        settings = {**self.settings.to_dict(), "data_sets": sets, "tokenizer": tokenizer.fingerprint}
        return fingerprint_of(settings, inputs=local)

    def build(self, folder: Path, tokenizer: Tokenizer) -> Path:
        """The corpus of the texts in `folder`, which is built if it is not there; ConfigError if it is another one.

        Equal documents are read once. Where they are too few for a validation split all are trained on. Nothing is left
        of a corpus that cannot be built.
        """
        corpus, fingerprint = folder / "corpus", self.fingerprint(tokenizer)
        if corpus.exists():
            return _validated(corpus, fingerprint)
        new = [each for each in (folder, *folder.parents[:2]) if not each.exists()]
        lock = folder / "texts.lock"
        with locked(lock, busy=ConfigError(f"{corpus}: is being built by another command; wait until it ends")):
            if corpus.exists():
                return _validated(corpus, fingerprint)
            write_json(folder / RECORD, {"fingerprint": fingerprint})
            try:
                self._build(corpus, tokenizer)
            except DataError:
                shutil.rmtree(folder / f".{corpus.name}.building", ignore_errors=True)
                for file in (folder / RECORD, lock):
                    file.unlink(missing_ok=True)
                with suppress(OSError):  # something else may be there by now
                    for each in new:
                        each.rmdir()
                raise
        return corpus

    def _build(self, corpus: Path, tokenizer: Tokenizer) -> None:
        try:
            build_corpus(self.documents(), tokenizer, self.settings, corpus)
        except EmptySplitError:
            logger.warning("too few different documents for a validation split, so all are trained on")
            build_corpus(self.documents(), tokenizer, self.settings.replace(validation_fraction=0), corpus)


def _validated(corpus: Path, fingerprint: str) -> Path:
    record = read_json_object(corpus.with_name(RECORD), if_missing="choose another --out")
    if record.get("fingerprint") != fingerprint:
        raise ConfigError(
            f"{corpus}: is of other texts, another column or other documents, or of the vocabulary of another model; "
            "give those of this run, or choose another --out"
        )
    return corpus


def _is_table(path: Path) -> bool:
    return not is_dataset_name(path) and format_ending(path) in TABLES


def _paths(pattern: str) -> list[Path]:
    """The files of a path, glob or directory; DataError if there is none."""
    path = Path(pattern)
    if is_dataset_name(path):
        return [path]
    # pathlib does not accept absolute patterns.
    matches = [path] if path.exists() else [Path(name) for name in glob.glob(pattern, recursive=True)]  # noqa: PTH207
    if not matches:
        raise DataError(f"{pattern}: no such file, and no file matches it as a pattern; give an existing path")
    files = [file for match in matches for file in (_files_in(match) if match.is_dir() else [match])]
    if not files:
        raise DataError(f"{pattern}: no files of text; expected names ending in {', '.join(ENDINGS)}")
    return files


def _files_in(directory: Path) -> list[Path]:
    files = [*files_below(directory)]
    found = [file for file in files if file.name.lower().endswith(ENDINGS)]
    if others := len(files) - len(found):
        logger.warning("%s: %d files of other formats are not read", directory, others)
    return found
