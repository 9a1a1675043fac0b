"""`litebert quickstart`: text, tokenizer, corpus, pretraining, fine-tuning and masked words in a few minutes.

The output directory has one folder per stage with the files that the command of this stage writes. The same command
resumes an interrupted quickstart, or returns the result of a finished one.
"""

import json
import logging
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from litebert.analysis.curves import read_curves
from litebert.analysis.plots import check_plotting, pretraining_curve
from litebert.commands.finetune import finetune, finetune_settings
from litebert.commands.finetune.finetune_result import FinetuneResult
from litebert.commands.pretrain import pretrain, pretrain_settings
from litebert.commands.pretrain.pretrain_result import PretrainResult
from litebert.commands.pretrain.validation import ValidationScores
from litebert.commands.quickstart.quickstart_settings import QuickstartRun
from litebert.commands.quickstart.quickstart_text import TextFiles, split_text
from litebert.commands.result import Result
from litebert.commands.runs.run_directory import RunDirectory
from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.inference.predictor import Predictor
from litebert.randomness import rng_for
from litebert.settings import read_yaml
from litebert.tasks.readers.text_files import iter_lines
from litebert.tokenization.tokenizer import Tokenizer
from litebert.tokenization.vocabulary_report import report_on
from litebert.tokenization.vocabulary_training import TokenizerSettings, VocabularyTooLargeError, train_tokenizer
from litebert.training.callbacks.callback import Callback

logger = logging.getLogger(__name__)

RECIPE = "modern-quickstart"
BLOCK_NOTE = (
    "not ALBERT's own block but the modern one, which learns more in as many steps; transformers loads it with "
    "trust_remote_code=True (for ALBERT's block: litebert pretrain quickstart --corpus CORPUS --out RUN)"
)
RESERVED_SHARE, MIN_PRETRAIN_SHARE = 0.2, 0.5
"""Shares of the time: reserved for the stages after pretraining; minimum for pretraining."""
FINETUNE_STEPS_PER_MINUTE = 70
MASKED_SENTENCES = 4
MIN_WORDS, MAX_WORDS = 8, 18
MAX_VOCABULARY_LINES = 40_000
"""Maximum number of lines for vocabulary training, which bounds its time."""


@dataclass(frozen=True)
class FilledMask:
    """A validation sentence with one masked word, the candidates of the model, best first, and the original word."""

    sentence: str
    candidates: list[str]
    answer: str


@dataclass(frozen=True)
class QuickstartResult(Result):
    """Scores and example predictions of a quickstart."""

    model: Path
    curve: Path
    start: ValidationScores
    end: ValidationScores
    masks: tuple[FilledMask, ...]
    pretrained_accuracy: float
    random_accuracy: float
    majority_accuracy: float
    linear_accuracy: float | None
    """Of a logistic regression of tf-idf features; None without scikit-learn."""
    labels: tuple[str, ...]
    dev_rows: int
    recipe: str = "quickstart"
    """That of pretraining; results of earlier versions do not name it."""

    def to_text(self) -> str:
        """A report of several lines."""
        accuracy, baseline, linear = self.end.mlm_accuracy, self.end.majority_token_accuracy, self.linear_accuracy
        lines = [
            "Validation text (documents that are not in the training text)",
            f"  at the start  {self.start.to_text()}",
            f"  at the end    {self.end.to_text()}",
            # A baseline of 0: none of the few masked tokens is the most frequent one.
            *([_times(accuracy, baseline)] if baseline else []),
            "",
            "Masked words in validation sentences",
            *(
                f"  {mask.sentence}\n    {', '.join(mask.candidates)} (in the text: {mask.answer})"
                for mask in self.masks
            ),
            "",
            f"Classification of paragraphs by source: {len(self.labels)} labels, {self.dev_rows} validation paragraphs",
            f"  fine-tuned from pretrained weights  {self.pretrained_accuracy:.1%}",
            f"  fine-tuned from random weights      {self.random_accuracy:.1%}",
            f"  majority-class baseline             {self.majority_accuracy:.1%}",
            *([f"  tf-idf and logistic regression      {linear:.1%}"] if linear is not None else []),
            "  (of the fine-tuned models the best evaluation on these paragraphs: slightly optimistic)",
            "",
            f"model  {self.model}",
            *([f"       recipe {RECIPE}: {BLOCK_NOTE}"] if self.recipe == RECIPE else []),
            f"curve  {self.curve}",
        ]
        return "\n".join(lines)


def _times(accuracy: float, baseline: float) -> str:
    return f"  MLM accuracy is {accuracy / baseline:.1f} times that of the majority-token baseline"


def quickstart(run: QuickstartRun, out: Path, *, callbacks: Sequence[Callback] = ()) -> QuickstartResult:
    """Run every stage that is not finished."""
    started = time.monotonic()
    check_plotting()
    logger.info("1/6 text: %s", ", ".join(run.text) or "the documentation of the installed Python libraries")
    text = TextFiles(out / "text")
    # Read before anything is written, so that an invalid path or file leaves no directory behind.
    documents = None if text.path.exists() else split_text(run.text)
    directory = RunDirectory.open(out, run, command="quickstart")
    if finished := directory.result(QuickstartResult):
        logger.info("%s: already finished; returning its result", out)
        return finished
    directory.begin(run, command="quickstart")
    if documents:
        text.write(documents, seed=run.seed)
    logger.info("2/6 tokenizer: %d pieces", run.vocab_size)
    tokenizer = _tokenizer(run, text, out / "tokenizer")
    logger.info("3/6 corpus")
    corpus = _corpus(text, tokenizer, out / "corpus")
    pretrain_run = _pretrain_run(run, corpus, out / "pretrain", spent=time.monotonic() - started)
    logger.info("4/6 pretraining for %s", pretrain_run.train.duration.to_text())
    pretrained = pretrain.pretrain(pretrain_run, out / "pretrain", callbacks=callbacks)
    curve = _draw(out, pretrained)
    logger.info("5/6 fine-tuning from pretrained weights, then from random weights")
    tuned = finetune.finetune(_finetune_run(run, text, pretrained.model), out / "finetune", callbacks=callbacks)
    scratch = finetune.finetune(
        _finetune_run(run, text, pretrained.model, from_scratch=True), out / "from-scratch", callbacks=callbacks
    )
    logger.info("6/6 masked words")
    result = _result(run, text, pretrained, tuned, scratch, curve)
    directory.finish(result)
    return result


def _tokenizer(run: QuickstartRun, text: TextFiles, directory: Path) -> Tokenizer:
    if directory.exists():
        return Tokenizer.load(directory)
    tokenizer = _trained_tokenizer(run, _lines(text.train), directory)
    report = report_on(tokenizer, _lines(text.validation))
    if report.loses_many_marks:
        logger.warning("%s: %s; quickstart needs a new --out then", directory, report.lost_marks())
    return tokenizer


def _trained_tokenizer(run: QuickstartRun, lines: list[str], directory: Path) -> Tokenizer:
    settings = TokenizerSettings(
        vocab_size=run.vocab_size,
        keep_accents=run.keep_accents,
        input_sentence_size=MAX_VOCABULARY_LINES,
        seed=run.seed,
    )
    try:
        return train_tokenizer(lines, settings, directory)
    except VocabularyTooLargeError as error:
        logger.warning("the text has only %d pieces; the vocabulary is reduced to this size", error.largest)
        return train_tokenizer(lines, settings.replace(vocab_size=error.largest), directory)


def _corpus(text: TextFiles, tokenizer: Tokenizer, directory: Path) -> Path:
    if not directory.exists():
        settings = CorpusSettings(validation_fraction=0)
        build_corpus([text.train], tokenizer, settings, directory, validation=[text.validation])
    return directory


def _pretrain_run(run: QuickstartRun, corpus: Path, out: Path, *, spent: float) -> pretrain_settings.PretrainRun:
    """Settings of pretraining for the remaining time; a resumed run keeps its duration."""
    settings_file = RunDirectory(out).settings_file
    if settings_file.exists():
        duration = read_yaml(settings_file)["train"]["duration"]
    else:
        total = 60 * run.minutes
        duration = f"{max(MIN_PRETRAIN_SHARE * total, (1 - RESERVED_SHARE) * total - spent):.0f} seconds"
    overrides = [f"train.duration={duration}", f"seed={run.seed}"]
    return pretrain_settings.load_pretrain_config(RECIPE, overrides, corpus=corpus)


def _finetune_run(
    run: QuickstartRun, text: TextFiles, model: Path, *, from_scratch: bool = False
) -> finetune_settings.FinetuneRun:
    """Settings of fine-tuning; the two runs differ in the initial weights only."""
    data = {"train": str(text.labelled_train), "dev": str(text.labelled_dev)}
    steps = f"train.duration={max(1, round(FINETUNE_STEPS_PER_MINUTE * run.minutes))} steps"
    given = {"model": str(model), "from_scratch": from_scratch, "data": data, "baseline": not from_scratch}
    return finetune_settings.load_finetune_config("quickstart", [steps, f"seed={run.seed}"], given=given)


def _draw(out: Path, pretrained: PretrainResult) -> Path:
    assert pretrained.end is not None, "the recipe evaluates"
    path = out / "curve.png"
    baselines = {"mlm": pretrained.end.majority_token_accuracy, "sop": 0.5}
    title = f"{pretrained.steps:,} steps, {pretrained.tokens / 1e6:.1f} million tokens"
    pretraining_curve(read_curves(out / "pretrain" / "metrics.jsonl"), baselines, path, title=title)
    return path


def _result(
    run: QuickstartRun,
    text: TextFiles,
    pretrained: PretrainResult,
    tuned: FinetuneResult,
    scratch: FinetuneResult,
    curve: Path,
) -> QuickstartResult:
    assert pretrained.start is not None, "the recipe evaluates"
    assert pretrained.end is not None, "the recipe evaluates"
    labels = Counter(row["label"] for row in _rows(text.labelled_dev))
    majority, *linear = (scores["accuracy"] for scores in tuned.baselines.values())
    return QuickstartResult(
        model=pretrained.model,
        recipe=RECIPE,
        curve=curve,
        start=pretrained.start,
        end=pretrained.end,
        masks=_fill_masks(text, pretrained.model, seed=run.seed),
        pretrained_accuracy=tuned.scores["accuracy"],
        random_accuracy=scratch.scores["accuracy"],
        majority_accuracy=majority,
        linear_accuracy=linear[0] if linear else None,
        labels=tuple(sorted(labels)),
        dev_rows=labels.total(),
    )


def _fill_masks(text: TextFiles, model: Path, *, seed: int) -> tuple[FilledMask, ...]:
    """Predictions for one random masked word in each of a few random validation sentences."""
    predictor, tokenizer = Predictor.load(model), Tokenizer.load(model)
    paragraphs = _lines(text.validation)
    rng = rng_for(seed, "quickstart masks")
    filled: list[FilledMask] = []
    for index in rng.permutation(len(paragraphs)):
        words = paragraphs[index].split()
        candidates_to_mask = [
            index for index, word in enumerate(words) if word.isalpha() and len(tokenizer.encode(word)) == 1
        ]
        if len(filled) < MASKED_SENTENCES and MIN_WORDS <= len(words) <= MAX_WORDS and candidates_to_mask:
            masked = candidates_to_mask[rng.integers(len(candidates_to_mask))]
            sentence = " ".join([*words[:masked], "[MASK]", *words[masked + 1 :]])
            candidates = [candidate.word or candidate.piece for candidate in predictor.fill_mask(sentence)[0]]
            filled.append(FilledMask(sentence, candidates, words[masked]))
    return tuple(filled)


def _lines(path: Path) -> list[str]:
    return [line for document in _rows(path) for line in document["text"].split("\n")]


def _rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in iter_lines(path)]
