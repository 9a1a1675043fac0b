"""Minimal pairs such as BLiMP's: does a masked language model prefer the acceptable sentence of each pair?"""

import json
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from litebert.commands.result import Result
from litebert.device import usable_device
from litebert.errors import ConfigError, DataError, NotFiniteError
from litebert.inference.inference_model import resolve_precision
from litebert.inference.sentence_likelihood import SentenceLengthError, log_likelihoods
from litebert.inference.word_masking import Masking, Scoring
from litebert.model.io.model_directory import load_model
from litebert.model.models import ForMaskedLM, ForPretraining
from litebert.settings import DeviceName, InferencePrecision
from litebert.tasks.metrics.metrics import wilson_interval, wilson_interval_of_mean
from litebert.tasks.metrics.text_table import aligned
from litebert.tasks.readers.text_files import read_text
from litebert.tokenization.tokenizer import Tokenizer

FAST_PAIRS = 100
"""Pairs of each paradigm that `fast` scores: the first ones of its file."""
MAX_INDISTINCT = 0.01
"""Share of the pairs of a paradigm whose sentences may have equal tokens without a warning."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MinimalPair:
    """An acceptable sentence and one that differs from it minimally and is not."""

    good: str
    bad: str
    paradigm: str
    phenomenon: str
    place: str = ""
    """File and line."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PairAccuracy:
    """The share of pairs in which the acceptable sentence scores higher; a tie counts half."""

    name: str
    phenomenon: str
    pairs: int
    accuracy: float
    interval: tuple[float, float]
    """Wilson's, 95 %; for a mean of paradigms with the effective number of pairs."""
    unigram_accuracy: float | None
    """The same from token frequencies alone; None without a corpus."""


@dataclass(frozen=True)
class MinimalPairScores(Result):
    """Accuracy over all paradigms, by phenomenon and by paradigm."""

    scoring: Scoring
    masking: Masking | None
    """None with causal scoring, where nothing is masked."""
    temperature: float
    """What divided the logits."""
    precision: InferencePrecision
    """Of the model; for `auto` the precision that was measured."""
    mean: PairAccuracy
    """The mean of the paradigms, as BLiMP reports it."""
    phenomena: tuple[PairAccuracy, ...]
    paradigms: tuple[PairAccuracy, ...]

    def to_text(self) -> str:
        """A table of the phenomena, their mean last."""
        unigram = [] if self.mean.unigram_accuracy is None else ["unigram"]
        rows = [["", "accuracy", "95 % interval", *unigram, "pairs"]]
        rows += [_row(score) for score in (*self.phenomena, self.mean)]
        masking = "" if self.masking is None else f", masking: {self.masking}"
        scored = f"scored by {self.scoring.replace('_', '-')}{masking}; ties count half"
        scored += "" if self.precision == "fp32" else f"; precision {self.precision}"
        scored += "" if self.temperature == 1 else f"; temperature {self.temperature:g}"
        return f"{aligned(rows)}\n{scored}; --json lists each paradigm"


def read_minimal_pairs(directory: Path, *, most: int | None = None) -> tuple[MinimalPair, ...]:
    """The pairs of a `.jsonl` file or of all those of a directory, one paradigm a file, in BLiMP's format.

    Files in its folders are not read, because the name of a file is that of its paradigm. A line is an object with
    `sentence_good` and `sentence_bad`, and perhaps `linguistics_term`; empty lines are left out. Raises DataError for a
    directory without such files, for a file without pairs or with several phenomena, and for a line that is no pair.
    """
    if not directory.exists():
        raise DataError(f"{directory}: no such file or directory; check the path")
    files = [directory] if directory.is_file() else sorted(directory.glob("*.jsonl"))
    if not files:
        raise DataError(f"{directory}: {_no_files(directory)}")
    return tuple(pair for file in files for pair in _read_file(file, most))


def _no_files(directory: Path) -> str:
    nested = sorted(directory.glob("*/**/*.jsonl"))
    if not nested:
        return "no .jsonl file; give a file or a directory of minimal pairs, such as BLiMP's"
    return (
        f"no .jsonl file here, {len(nested)} in its folders, which are not searched, such as "
        f"{nested[0].relative_to(directory)}; give the folder that holds them, such as {nested[0].parent}"
    )


def _read_file(file: Path, most: int | None) -> list[MinimalPair]:
    lines = enumerate(read_text(file).split("\n"), start=1)
    pairs = [_pair(file, *line) for line in islice((line for line in lines if line[1].strip()), most)]
    if not pairs:
        raise DataError(f"{file}: no pairs; remove the file, or write one object a line")
    first = pairs[0]
    if other := next((pair for pair in pairs if pair.phenomenon != first.phenomenon), None):
        raise DataError(
            f"{other.place}: linguistics_term {other.phenomenon!r}, in the first line {first.phenomenon!r}; a file is "
            "one paradigm of one phenomenon, so put the pairs of each in a file of their own"
        )
    return pairs


def evaluate_minimal_pairs(
    model: Path,
    directory: Path,
    *,
    masking: Masking | None = "token",
    temperature: float = 1.0,
    fast: bool = False,
    precision: InferencePrecision = "fp32",
    device: DeviceName = "auto",
    counts: np.ndarray | None = None,
) -> MinimalPairScores:
    """Score a pretrained model on a directory of minimal pairs; `counts` [V] of tokens add the unigram column.

    With `masking` None nothing is masked: each token is predicted from those before it.
    """
    loaded, tokenizer = load_model(model), Tokenizer.load(model)
    if not isinstance(loaded, ForPretraining | ForMaskedLM):
        raise ConfigError(f"{model}: a {type(loaded).__name__} has no masked-LM head; give a model from `pretrain`")
    pairs = read_minimal_pairs(directory, most=FAST_PAIRS if fast else None)
    sentences = [sentence for pair in pairs for sentence in (pair.good, pair.bad)]
    loaded = loaded.to(usable_device(device, precision))
    precision = resolve_precision(precision, loaded)
    try:
        scores = log_likelihoods(
            loaded, tokenizer, sentences, masking=masking, temperature=temperature, precision=precision
        )
    except SentenceLengthError as error:
        side = "sentence_bad" if error.index % 2 else "sentence_good"
        raise DataError(f"{pairs[error.index // 2].place}: {side}: {error.problem}") from None
    if not np.isfinite(scores).all():
        raise NotFiniteError(model)
    _warn_indistinct(tokenizer, pairs)
    correct = _preferences(scores)
    unigram = None if counts is None else _preferences(_unigram_scores(tokenizer, sentences, counts))
    return summarize(pairs, correct, unigram, masking=masking, temperature=temperature, precision=precision)


def summarize(
    pairs: Sequence[MinimalPair],
    correct: np.ndarray,
    unigram: np.ndarray | None,
    *,
    masking: Masking | None,
    temperature: float = 1.0,
    precision: InferencePrecision = "fp32",
) -> MinimalPairScores:
    """Means of 1 (preferred), 0.5 (tie) and 0 over paradigms and phenomena."""
    names = np.array([pair.paradigm for pair in pairs])
    paradigms = []
    for name in dict.fromkeys(names.tolist()):
        rows = names == name
        phenomenon = next(pair.phenomenon for pair in pairs if pair.paradigm == name)
        paradigms.append(_accuracy(name, phenomenon, correct[rows], None if unigram is None else unigram[rows]))
    phenomena = [
        _mean(name, [score for score in paradigms if score.phenomenon == name])
        for name in dict.fromkeys(score.phenomenon for score in paradigms)
    ]
    return MinimalPairScores(
        scoring="causal" if masking is None else "pseudo_log_likelihood",
        masking=masking,
        temperature=temperature,
        precision=precision,
        mean=_mean("mean of paradigms", paradigms),
        phenomena=tuple(phenomena),
        paradigms=tuple(paradigms),
    )


def _pair(file: Path, line: int, content: str) -> MinimalPair:
    try:
        values = json.loads(content)
        good, bad = values["sentence_good"], values["sentence_bad"]
        term = values.get("linguistics_term", file.stem)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise DataError(
            f"{file}:{line}: no minimal pair; expected an object with sentence_good and sentence_bad"
        ) from None
    if not all(isinstance(text, str) and text.strip() for text in (good, bad, term)):
        raise DataError(f"{file}:{line}: an empty sentence; fill it in or remove the line")
    return MinimalPair(good, bad, file.stem, term, f"{file}:{line}")


def _warn_indistinct(tokenizer: Tokenizer, pairs: Sequence[MinimalPair]) -> None:
    """Warn of paradigms that the tokenizer hides from the model: their ties say nothing of it."""
    good, bad = (tokenizer.encode_batch([getattr(pair, side) for pair in pairs]) for side in ("good", "bad"))
    number = Counter(pair.paradigm for pair in pairs)
    equal = Counter(
        pair.paradigm
        for pair, *tokens in zip(pairs, good, bad, strict=True)
        if tokens[0] == tokens[1] and pair.good != pair.bad
    )
    for name, count in equal.items():
        if count > MAX_INDISTINCT * number[name]:
            logger.warning(
                "%s: in %d of %d pairs different sentences have equal tokens, because the tokenizer drops case or "
                "accents, or does not know their characters; each is a tie and counts half",
                name,
                count,
                number[name],
            )


def _preferences(scores: np.ndarray) -> np.ndarray:
    """1 where the first of two scores is higher, 0.5 where they are equal, else 0."""
    good, bad = scores.reshape(-1, 2).T
    return np.where(good == bad, 0.5, (good > bad).astype(float))


def _unigram_scores(tokenizer: Tokenizer, sentences: Sequence[str], counts: np.ndarray) -> np.ndarray:
    """Sum of log frequencies, one occurrence added to each token; ties are exact, whatever the order of the tokens."""
    log_frequency = np.log(counts + 1.0) - np.log((counts + 1.0).sum())
    return np.array([np.sort(log_frequency[ids]).sum() for ids in tokenizer.encode_batch(list(sentences))])


def _accuracy(name: str, phenomenon: str, correct: np.ndarray, unigram: np.ndarray | None) -> PairAccuracy:
    return PairAccuracy(
        name=name,
        phenomenon=phenomenon,
        pairs=len(correct),
        accuracy=float(correct.mean()),
        interval=wilson_interval(float(correct.sum()), len(correct)),
        unigram_accuracy=None if unigram is None else float(unigram.mean()),
    )


def _mean(name: str, scores: Sequence[PairAccuracy]) -> PairAccuracy:
    """The mean of paradigms, each with the same weight."""
    accuracies, pairs = [score.accuracy for score in scores], [score.pairs for score in scores]
    unigram = [score.unigram_accuracy for score in scores if score.unigram_accuracy is not None]
    return PairAccuracy(
        name=name,
        phenomenon=name,
        pairs=sum(pairs),
        accuracy=float(np.mean(accuracies)),
        interval=wilson_interval_of_mean(accuracies, pairs),
        unigram_accuracy=float(np.mean(unigram)) if unigram else None,
    )


def _row(score: PairAccuracy) -> list[str]:
    low, high = score.interval
    unigram = [] if score.unigram_accuracy is None else [f"{score.unigram_accuracy:.1%}"]
    figures = [f"{score.accuracy:.1%}", f"{low:.1%} to {high:.1%}", *unigram, f"{score.pairs:,}"]
    return [score.name.replace("_", " "), *figures]
