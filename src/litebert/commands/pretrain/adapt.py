"""`litebert adapt`: a pretrained encoder is pretrained further on text of a task's own kind.

Source: Gururangan et al. 2020, "Don't Stop Pretraining". The corpus is in the run directory, in `data/corpus`.
"""

import glob
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, Self

from litebert.commands.finetune.default_settings import is_small
from litebert.commands.fingerprint import fingerprint_of
from litebert.commands.pretrain.adapt_settings import AdaptRun
from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.pretrain.pretrain_result import PretrainResult
from litebert.commands.pretrain.pretrain_settings import PretrainRun
from litebert.commands.recipes import load_recipe
from litebert.commands.runs.run_directory import DATA, RunDirectory
from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.format.shards import Corpus, read_description
from litebert.corpus.readers.documents import Document, find_files, read_documents
from litebert.errors import ConfigError, DataError
from litebert.files import read_json_object, write_json
from litebert.hub_datasets import is_dataset_name
from litebert.inference.pretraining_record import recorded_sampling
from litebert.model.io.hub import model_directory
from litebert.model.io.model_spec import MASKED_LANGUAGE_MODELS, ModelSpec, read_model_spec
from litebert.settings import merged_settings, with_overrides
from litebert.tasks.readers.tables import iter_tables
from litebert.tasks.readers.text_files import format_ending
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.callbacks.callback import Callback

TABLES: Final = (".csv", ".tsv")
"""Endings of files that a corpus is not built of; their rows are documents."""
ROWS_AT_A_TIME: Final = 1024
VALIDATION_FRACTION: Final = 0.02
MIN_DOCUMENTS: Final = 10
"""Of fewer none is in the validation split."""
WIDE_LEARNING_RATE: Final = 1e-4
"""Of AdamW, for encoders that are not small. Source: Gururangan et al. 2020, table 14."""
BATCH_SIZES: Final = {32: 128, 64: 64}
"""Tokens of an example up to which a batch has so many; 32 of longer ones."""

logger = logging.getLogger(__name__)


def adapt(
    run: AdaptRun, *, given: Mapping[str, Any] | None = None, callbacks: Sequence[Callback] = ()
) -> PretrainResult:
    """Build a corpus of the texts with the tokenizer of the model, and train the model on it; resumes a run in `out`.

    `given` are settings of pretraining besides those of `run`, nested.

    Raises ConfigError for a model without a masked-language-model head, for wrong settings, and for other texts than
    those of the run in `out`.
    """
    model = model_directory(run.model)
    spec = read_model_spec(model)
    if spec.model not in MASKED_LANGUAGE_MODELS:
        raise ConfigError(f"model: {run.model} is a {spec.model}, which predicts no masked tokens; give the encoder")
    sampling, corpus = recorded_sampling(model, spec), run.out / DATA / "corpus"
    given = merged_settings(with_overrides({}, run.settings), given or {})
    pretraining = partial(adaptation, run.model, spec, sampling, corpus, given)
    pretraining()  # wrong settings are refused before the texts are read
    RunDirectory(run.out).validate_is_run_or_new()
    Texts.of(run).build(corpus, Tokenizer.load(model))
    described = read_description(corpus)["splits"]
    length = min(sampling["max_length"], _tokens_per_document(corpus))
    settings = pretraining(length=length, validates=bool(described["validation"]))
    return pretrain(settings, run.out, callbacks=callbacks)


def adaptation(
    model: str,
    spec: ModelSpec,
    sampling: Mapping[str, Any],
    corpus: Path,
    given: Mapping[str, Any],
    *,
    length: float = 128,
    validates: bool = True,
) -> PretrainRun:
    """The settings of pretraining: `given` and those of the recipe, with architecture and examples of the model.

    `length` are the tokens of an example; the shorter, the more are in a batch, so that it has 2,000 to 4,000 tokens.
    """
    values = load_recipe("default", command="adapt").settings
    if not is_small(spec.config.hidden_size):
        others = {name: value for name, value in values["train"].items() if not name.startswith("muon")}
        values["train"] = {**others, "optimizer": "adamw", "learning_rate": WIDE_LEARNING_RATE}
    examples = next((size for most, size in BATCH_SIZES.items() if length <= most), 32)
    values |= {
        "corpus": str(corpus),
        "model": spec.config.to_dict(),
        "sampling": dict(sampling),
        "init_checkpoint": model,
        "batch_size": examples,
        "microbatch_size": min(examples, 64),
    }
    if not validates:
        values["max_eval_examples"] = 0
    return PretrainRun.parse(merged_settings(values, given), where="adapt")


@dataclass(frozen=True)
class Texts:
    """The files of text of a run, with the settings of the corpus that is built of them."""

    tables: Sequence[Path]
    files: Sequence[Path]
    column: str
    settings: CorpusSettings

    @classmethod
    def of(cls, run: AdaptRun) -> Self:
        """Those of a run; DataError if a file does not exist or is of an unknown format."""
        tables = [each for each in run.texts if format_ending(Path(each)) in TABLES]
        files = find_files([each for each in run.texts if each not in tables])
        settings = CorpusSettings(documents=run.documents, text_key=run.text)
        return cls(sorted({path for each in tables for path in _matches(each)}), files, run.text, settings)

    @property
    def fingerprint(self) -> str:
        """Of the settings and of the content of the files; data sets of the hub are not read for it."""
        local = [file for file in (*self.tables, *self.files) if not is_dataset_name(file)]
        return fingerprint_of(self.settings.to_dict(), inputs=local)

    def documents(self) -> Iterator[Document]:
        """A document for each row of the tables, then those of the other files."""
        for table in self.tables:
            for part in iter_tables(table, rows_per_table=ROWS_AT_A_TIME):
                for row, text in zip(part.rows, part.texts(self.column), strict=True):
                    yield Document(f"{table}:{row.line}", tuple(text.splitlines()))
        yield from read_documents(self.files, self.settings, Counter())

    def build(self, corpus: Path, tokenizer: Tokenizer) -> None:
        """Build `corpus` unless it is there; ConfigError if it is of other texts."""
        record, content = corpus.with_name("texts.json"), {"fingerprint": self.fingerprint}
        if corpus.exists():
            if read_json_object(record, if_missing="choose another --out") != content:
                raise ConfigError(f"texts: not those of {corpus}, which exists; restore them, or choose another --out")
            return
        has_few = len(list(islice(self.documents(), MIN_DOCUMENTS))) < MIN_DOCUMENTS
        if has_few:
            logger.warning("fewer than %d documents, so none is kept for validation", MIN_DOCUMENTS)
        settings = self.settings.replace(validation_fraction=0.0 if has_few else VALIDATION_FRACTION)
        corpus.parent.mkdir(parents=True, exist_ok=True)
        write_json(record, content)
        build_corpus(self.documents(), tokenizer, settings, corpus)


def _matches(pattern: str) -> list[Path]:
    """A table, or those that a pattern matches; DataError if there is none."""
    if Path(pattern).exists():
        return [Path(pattern)]
    if found := [Path(name) for name in glob.glob(pattern, recursive=True)]:  # noqa: PTH207
        return found
    raise DataError(f"{pattern}: no such file; check the path")


def _tokens_per_document(corpus: Path) -> float:
    opened = Corpus.open(corpus, "train")
    return opened.num_tokens / opened.num_documents
