"""`litebert adapt`: a pretrained encoder is pretrained further on text of a task's own kind.

Source: Gururangan et al. 2020, "Don't Stop Pretraining". The corpus is in the run directory, in `data/adapt/corpus`.
"""

import logging
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from litebert.commands.finetune.default_settings import is_small
from litebert.commands.pretrain.adapt_settings import AdaptRun
from litebert.commands.pretrain.adapt_texts import DomainTexts
from litebert.commands.pretrain.pretrain import pretrain
from litebert.commands.pretrain.pretrain_result import PretrainResult
from litebert.commands.pretrain.pretrain_settings import PretrainRun
from litebert.commands.recipes import load_recipe
from litebert.commands.runs.run_directory import DATA, RunDirectory
from litebert.corpus.format.shards import Corpus, read_description
from litebert.errors import ConfigError
from litebert.files import write_text
from litebert.inference.pretraining_record import pretraining_record, recorded_sampling
from litebert.model.io.hub import model_directory
from litebert.model.io.model_spec import MASKED_LANGUAGE_MODELS, ModelSpec, read_model_spec
from litebert.settings import merged_settings, read_yaml, with_overrides, write_yaml
from litebert.tokenization.tokenizer import Tokenizer
from litebert.training.callbacks.callback import Callback

ADAMW: Final = {"learning_rate": 1e-4, "weight_decay": 0.01, "warmup": 0.06}
"""Of encoders that are not trained with Muon. Source: Gururangan et al. 2020, task-adaptive pretraining."""
BATCH_SIZES: Final = {32: 128, 64: 64}
"""Tokens of an example up to which a batch has so many; 32 of longer ones."""
FROM_THE_MODEL: Final = ("corpus", "model", "init", "init_checkpoint")
"""Settings of pretraining that are those of the model and of the texts."""
FOLDER: Final = "adapt"
"""Of the corpus, in the data of the run."""
NO_PAIRS: Final = {"pairing": "none", "single_segment": True}
MIN_SENTENCES: Final = 1.5
"""Of a document on average, without which there are no pairs of segments."""

logger = logging.getLogger(__name__)


def adapt(
    run: AdaptRun, *, given: Mapping[str, Any] | None = None, callbacks: Sequence[Callback] = ()
) -> PretrainResult:
    """Build a corpus of the texts with the tokenizer of the model, and train the model on it; resumes a run in `out`.

    `given` are settings of pretraining besides those of `run`, nested.

    Raises ConfigError for a model without a masked-language-model head, for wrong settings, and for other texts than
    those of the run in `out`.
    """
    if os.environ.get("WORLD_SIZE", "1") != "1":
        raise ConfigError("adapt: runs in one process; for several, `litebert pretrain` with init_checkpoint=MODEL")
    given = merged_settings(with_overrides({}, run.settings), given or {})
    if fixed := [name for name in FROM_THE_MODEL if name in given]:
        raise ConfigError(
            f"settings: {', '.join(fixed)}: as the model and the texts have it; leave it out, or use `pretrain`"
        )
    model = model_directory(run.model)
    spec = read_model_spec(model)
    if spec.model not in MASKED_LANGUAGE_MODELS:
        raise ConfigError(f"model: {run.model} is a {spec.model}, which predicts no masked tokens; give the encoder")
    sampling, folder = sampling_of(model, spec), run.out.resolve() / DATA / FOLDER
    pretraining = partial(adaptation, run.model, spec, folder / "corpus", given)
    drawn = pretraining(sampling).sampling  # wrong settings are refused before the texts are read
    _validate_own_run(run.out, folder)
    corpus = DomainTexts.of(run).build(folder, Tokenizer.load(model))
    _follow_move(RunDirectory(run.out), corpus)
    train = Corpus.open(corpus, "train")
    few_sentences = train.num_sentences < MIN_SENTENCES * train.num_documents
    if drawn.pairing != "none" and few_sentences and "pairing" not in given.get("sampling", {}):
        logger.info("most documents are one sentence, so no pairs of segments are trained")
        sampling = {**sampling, **NO_PAIRS}
    length = train.num_tokens / train.num_documents
    validates = bool(read_description(corpus)["splits"]["validation"])
    return pretrain(pretraining(sampling, length=length, validates=validates), run.out, callbacks=callbacks)


def sampling_of(model: Path, spec: ModelSpec) -> dict[str, Any]:
    """How examples are drawn: as in the pretraining of the model; of one of elsewhere, masked tokens without pairs."""
    if pretraining_record(model) is not None:
        return recorded_sampling(model, spec)
    logger.info("%s: has no record of its pretraining, so 15 %% of the tokens are masked and no pairs trained", model)
    return {"max_length": min(128, spec.config.max_position_embeddings), **NO_PAIRS}


def adaptation(
    model: str,
    spec: ModelSpec,
    corpus: Path,
    given: Mapping[str, Any],
    sampling: Mapping[str, Any],
    *,
    length: float = 128,
    validates: bool = True,
) -> PretrainRun:
    """The settings of pretraining: `given` and those of the recipe, with architecture and examples of the model.

    `length` are the tokens of a document. The shorter the examples, the more are in a batch: at most 4,096 tokens, with
    examples of at most 128.
    """
    values = load_recipe("default", command="adapt").settings
    given_train = given.get("train")
    optimizer = given_train.get("optimizer") if isinstance(given_train, Mapping) else None
    if (optimizer or ("muon" if is_small(spec.config.hidden_size) else "adamw")) != "muon":
        others = {name: value for name, value in values["train"].items() if not name.startswith("muon")}
        values["train"] = {**others, **ADAMW, "optimizer": "adamw"}
    values |= {"corpus": str(corpus), "model": spec.config.to_dict(), "sampling": dict(sampling)}
    values |= {"init_checkpoint": model, "batch_size": 32, "microbatch_size": 32}
    if not validates:
        values["max_eval_examples"] = 0
        if given.get("metric_for_best_model"):
            raise ConfigError(
                "metric_for_best_model: the texts have too few different documents for a validation split; leave it "
                "out, or give more text"
            )
    run = PretrainRun.parse(merged_settings(values, given), where="adapt")
    longest = min(length, run.sampling.max_length)
    examples = next((size for most, size in BATCH_SIZES.items() if longest <= most), 32)
    batch = {"batch_size": examples, "microbatch_size": min(examples, 64)}
    return run.replace(**{name: size for name, size in batch.items() if name not in given})


def _follow_move(directory: RunDirectory, corpus: Path) -> None:
    """Where the run was moved, write the place of its corpus into its settings; `DomainTexts` knows the texts."""
    if directory.settings_file.exists():
        saved = read_yaml(directory.settings_file)
        if saved.get("corpus") != str(corpus):
            write_text(directory.settings_file, write_yaml({**saved, "corpus": str(corpus)}))


def _validate_own_run(out: Path, folder: Path) -> None:
    """Raise ConfigError if there is something at `out` that is no run of `adapt`."""
    directory = RunDirectory(out)
    directory.validate_is_run_or_new()
    if directory.settings_file.exists() and not (folder / "corpus").exists():
        raise ConfigError(f"{out}: is no run of `adapt`, or its corpus was removed; choose another --out")
    if folder.parent.exists() and set(folder.parent.iterdir()) - {folder}:
        raise ConfigError(f"{out}: exists and is not a run of `adapt`; choose another --out")
