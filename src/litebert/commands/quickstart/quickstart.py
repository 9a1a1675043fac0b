"""The whole product in miniature: text, tokenizer, corpus, pretraining, fine-tuning, masked words.

Before: the documentation on this machine, or the user's text. After: a directory in which each stage has left what the
verb of its name leaves, so that any of them can be looked at. The same command resumes or says it is done.
"""

import json
import logging
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from litebert.analysis.curves import read_curves
from litebert.analysis.plots import check_plotting, pretraining_curve
from litebert.commands.finetune import finetune, finetune_settings
from litebert.commands.pretrain import pretrain, pretrain_settings
from litebert.commands.pretrain.held_out_scores import HeldOutScores
from litebert.commands.pretrain.pretrain_result import PretrainResult
from litebert.commands.quickstart.quickstart_text import TextFiles, split_text
from litebert.commands.result import Result
from litebert.commands.run_directory import RunDirectory
from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.build.corpus_settings import CorpusSettings
from litebert.inference.predictor import Predictor
from litebert.randomness import rng_for
from litebert.settings import Settings, read_yaml
from litebert.tokenization.tokenizer import Tokenizer
from litebert.tokenization.vocabulary_training import TokenizerSettings, VocabularyTooLargeError, train_tokenizer
from litebert.training.callbacks.callback import Callback

logger = logging.getLogger(__name__)

RESERVED_SHARE, LEAST_SHARE = 0.2, 0.5
"""Of the minutes: kept for what follows pretraining; given to pretraining however long it took to get there."""
FINETUNE_STEPS_A_MINUTE = 35
MASKED_SENTENCES = 4
FEWEST_WORDS, MOST_WORDS = 8, 18
MOST_LINES = 40_000
"""Lines the vocabulary is learned from; more would take longer than they are worth."""


class QuickstartRun(Settings):
    """What decides a quickstart."""

    text: tuple[str, ...] = ()
    """Text files, globs or directories; none takes the documentation that is on this machine."""
    minutes: float = Field(default=5.8, gt=0)
    """About how long all of it takes on two cores."""
    vocab_size: int = Field(default=4000, gt=5)
    """Pieces of the vocabulary; a text that yields fewer gets as many as it yields."""
    seed: int = Field(default=0, ge=0)
    """Seed of everything that is drawn by chance."""


@dataclass(frozen=True)
class FilledMask:
    """A held-out sentence with one word masked, the model's candidates, best first, and the word of the text."""

    sentence: str
    candidates: list[str]
    answer: str


@dataclass(frozen=True)
class QuickstartResult(Result):
    """What a quickstart found."""

    model: Path
    curve: Path
    start: HeldOutScores
    end: HeldOutScores
    masks: tuple[FilledMask, ...]
    pretrained_accuracy: float
    random_accuracy: float
    majority_accuracy: float
    labels: tuple[str, ...]
    dev_rows: int

    def to_text(self) -> str:
        """The result for a person."""
        ratio = self.end.mlm_accuracy / self.end.baseline_accuracy
        lines = [
            "Held-out text (whole documents that training never saw)",
            f"  at the start  {self.start.to_text()}",
            f"  at the end    {self.end.to_text()}",
            f"  masked words are found {ratio:.1f} times as often as by always naming the most frequent token",
            "",
            "Masked words in held-out sentences",
            *(
                f"  {mask.sentence}\n    {', '.join(mask.candidates)} (in the text: {mask.answer})"
                for mask in self.masks
            ),
            "",
            f"Where is a paragraph from? {len(self.labels)} sources, {self.dev_rows} paragraphs of held-out documents",
            f"  fine-tuned from the pretrained weights  {self.pretrained_accuracy:.1%}",
            f"  fine-tuned from random weights          {self.random_accuracy:.1%}",
            f"  always the most frequent source         {self.majority_accuracy:.1%}",
            "",
            f"model  {self.model}",
            f"curve  {self.curve}",
        ]
        return "\n".join(lines)


def quickstart(run: QuickstartRun, out: Path, *, callbacks: Sequence[Callback] = ()) -> QuickstartResult:
    """Every stage in turn; a stage that is done is not done again."""
    began = time.monotonic()
    check_plotting()
    logger.info("1/6 text: %s", ", ".join(run.text) or "the documentation on this machine")
    text = TextFiles(out / "text")
    # Read before anything is written: a wrong path or a bad file leaves nothing behind.
    documents = None if text.directory.exists() else split_text(run.text)
    directory = RunDirectory.open(out, run, kind="quickstart")
    if done := directory.result(QuickstartResult):
        logger.info("%s: this quickstart is finished; its result is shown again", out)
        return done
    directory.begin(run, kind="quickstart")
    if documents:
        text.write(documents, seed=run.seed)
    logger.info("2/6 tokenizer: %d pieces", run.vocab_size)
    tokenizer = _tokenizer(run, text, out / "tokenizer")
    logger.info("3/6 corpus")
    corpus = _corpus(text, tokenizer, out / "corpus")
    plan = _pretrain_run(run, corpus, out / "pretrain", spent=time.monotonic() - began)
    logger.info("4/6 pretraining for %s", plan.train.duration.to_text())
    pretrained = pretrain.pretrain(plan, out / "pretrain", callbacks=callbacks)
    curve = _draw(out, pretrained)
    logger.info("5/6 fine-tuning from the pretrained weights, then from random ones")
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
    lines = [line for document in _rows(text.train) for line in document["text"].splitlines()]
    settings = TokenizerSettings(vocab_size=run.vocab_size, input_sentence_size=MOST_LINES, seed=run.seed)
    try:
        return train_tokenizer(lines, settings, directory)
    except VocabularyTooLargeError as error:
        logger.warning("the text yields only %d pieces; the vocabulary gets as many", error.largest)
        return train_tokenizer(lines, settings.replace(vocab_size=error.largest), directory)


def _corpus(text: TextFiles, tokenizer: Tokenizer, directory: Path) -> Path:
    if not directory.exists():
        settings = CorpusSettings(validation_fraction=0)
        build_corpus([text.train], tokenizer, settings, directory, held_out=[text.held_out])
    return directory


def _pretrain_run(run: QuickstartRun, corpus: Path, out: Path, *, spent: float) -> pretrain_settings.PretrainRun:
    """Pretraining for the seconds that are left; a run that is there already keeps the length it was begun with."""
    begun = RunDirectory(out).settings_file
    if begun.exists():
        duration = read_yaml(begun)["train"]["duration"]
    else:
        total = 60 * run.minutes
        duration = f"{max(LEAST_SHARE * total, (1 - RESERVED_SHARE) * total - spent):.0f} seconds"
    overrides = [f"train.duration={duration}", f"seed={run.seed}"]
    return pretrain_settings.load_pretrain_config("quickstart", overrides, corpus=corpus)


def _finetune_run(
    run: QuickstartRun, text: TextFiles, model: Path, *, from_scratch: bool = False
) -> finetune_settings.FinetuneRun:
    """The same rows, steps and settings for both; only the weights it starts from differ."""
    data = {"train": str(text.labelled_train), "dev": str(text.labelled_dev)}
    steps = f"train.duration={max(1, round(FINETUNE_STEPS_A_MINUTE * run.minutes))} steps"
    given = {"model": str(model), "from_scratch": from_scratch, "data": data}
    return finetune_settings.load_finetune_config("quickstart", [steps, f"seed={run.seed}"], given=given)


def _draw(out: Path, pretrained: PretrainResult) -> Path:
    assert pretrained.end is not None, "the recipe evaluates"
    path = out / "curve.png"
    baselines = {"mlm": pretrained.end.baseline_accuracy, "sop": 0.5}
    title = f"{pretrained.steps:,} steps, {pretrained.tokens / 1e6:.1f} million tokens"
    pretraining_curve(read_curves(out / "pretrain" / "metrics.jsonl"), baselines, path, title=title)
    return path


def _result(
    run: QuickstartRun,
    text: TextFiles,
    pretrained: PretrainResult,
    tuned: finetune.FinetuneResult,
    scratch: finetune.FinetuneResult,
    curve: Path,
) -> QuickstartResult:
    assert pretrained.start is not None, "the recipe evaluates"
    assert pretrained.end is not None, "the recipe evaluates"
    labels = Counter(row["label"] for row in _rows(text.labelled_dev))
    return QuickstartResult(
        model=pretrained.model,
        curve=curve,
        start=pretrained.start,
        end=pretrained.end,
        masks=_fill_masks(text, pretrained.model, seed=run.seed),
        pretrained_accuracy=tuned.best["metrics"]["accuracy"],
        random_accuracy=scratch.best["metrics"]["accuracy"],
        majority_accuracy=max(labels.values()) / labels.total(),
        labels=tuple(sorted(labels)),
        dev_rows=labels.total(),
    )


def _fill_masks(text: TextFiles, model: Path, *, seed: int) -> tuple[FilledMask, ...]:
    """One word masked in each of a few held-out sentences, drawn by chance."""
    predictor, tokenizer = Predictor.load(model), Tokenizer.load(model)
    paragraphs = [line for document in _rows(text.held_out) for line in document["text"].splitlines()]
    rng = rng_for(seed, "quickstart masks")
    filled: list[FilledMask] = []
    for index in rng.permutation(len(paragraphs)):
        words = paragraphs[index].split()
        whole = [place for place, word in enumerate(words) if word.isalpha() and len(tokenizer.encode(word)) == 1]
        if len(filled) < MASKED_SENTENCES and FEWEST_WORDS <= len(words) <= MOST_WORDS and whole:
            place = whole[rng.integers(len(whole))]
            sentence = " ".join([*words[:place], "[MASK]", *words[place + 1 :]])
            candidates = [candidate.word or candidate.piece for candidate in predictor.fill_mask(sentence)[0]]
            filled.append(FilledMask(sentence, candidates, words[place]))
    return tuple(filled)


def _rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
