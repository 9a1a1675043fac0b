"""Speed of a fine-tuned classifier on a CPU, from texts to labels: litebert, transformers with the same files, tf-idf.

    OMP_NUM_THREADS=1 python benchmarks/classifier.py RUN --train SST-2/train.tsv --dev SST-2/dev.tsv --text sentence

With `--compare-kernels`: litebert with the compiled kernels, and with the operators of torch in their place. bf16 is
left out where the processor has no instructions for it. Outputs are compared before anything is timed: accuracies, and
the share of labels that are those of litebert in fp32; with the same weights in fp32 other labels are an error.
Contestants take turns, and each one's fastest turn counts, in elapsed time; for one text, the median of the first
hundred, each classified twice in a row.
"""

import argparse
import statistics
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import torch
from measurement.clocks import fastest_in_turn, seconds_of

from litebert.inference.predictor import Predictor
from litebert.machine import has_bf16_instructions
from litebert.model.io.hub import local_model_directory
from litebert.model.kernels.native.library import native_kernels
from litebert.tasks.types.text_baselines import INVERSE_REGULARIZATION, MAX_NGRAMS
from litebert.tokenization.letters import word_expression

Classify = Callable[[Sequence[str]], list[str]]
PRECISIONS = ("fp32", "bf16", "int8") if has_bf16_instructions() is not False else ("fp32", "int8")
BATCH = 32
TURNS = 3
SINGLE_TEXTS = 100
SAME_LABELS = 0.995
"""Smallest share of equal labels in fp32, where rounding decides hardly any."""


def main() -> None:
    """Compare the labels, then measure, and print a table."""
    arguments = _arguments()
    torch.set_num_threads(arguments.threads)
    train, dev = (pandas.read_csv(path, sep="\t", quoting=3) for path in (arguments.train, arguments.dev))
    texts, labels = list(dev[arguments.text]), [str(label) for label in dev[arguments.label]]
    contestants = {f"litebert, {each}": ours(arguments.run, each) for each in PRECISIONS}
    if arguments.compare_kernels:
        contestants |= {f"torch's, {each}": ours(arguments.run, each, compiled=False) for each in PRECISIONS}
    else:
        contestants["transformers, fp32"] = theirs(arguments.run, torch.float32)
        if "bf16" in PRECISIONS:
            contestants["transformers, bf16"] = theirs(arguments.run, torch.bfloat16)
        fitted = linear(list(train[arguments.text]), list(train[arguments.label]))
        contestants["tf-idf and logistic regression"] = fitted
    predicted = {name: classify(texts) for name, classify in contestants.items()}
    refuse_other_labels(predicted)
    actions = [partial(classify, texts) for classify in contestants.values()]
    fastest = dict(zip(contestants, fastest_in_turn(actions, turns=TURNS), strict=True))
    alone = milliseconds_alone(contestants, texts[:SINGLE_TEXTS])
    print(f"{arguments.threads} threads, {len(texts):,} texts\n")
    print("| | accuracy | labels as in fp32 | texts a second | ms for one text |")
    print("| --- | --- | --- | --- | --- |")
    for name in contestants:
        accuracy, same = agreement(predicted[name], labels), agreement(predicted[name], predicted["litebert, fp32"])
        print(f"| {name} | {accuracy:.1%} | {same:.1%} | {len(texts) / fastest[name]:,.0f} | {alone[name]:.2f} |")


def refuse_other_labels(predicted: dict[str, list[str]]) -> None:
    """Raise ValueError if a contestant with the same weights in fp32 gives other labels than litebert."""
    for name in ("torch's, fp32", "transformers, fp32"):
        if name in predicted and (share := agreement(predicted[name], predicted["litebert, fp32"])) < SAME_LABELS:
            raise ValueError(f"{name}: {share:.1%} of the labels are those of litebert; nothing is timed")


def milliseconds_alone(contestants: dict[str, Classify], texts: Sequence[str]) -> dict[str, float]:
    """Median over the texts, each classified by itself and by all contestants in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for text in texts:
        for name, classify in contestants.items():
            classify([text])  # the weights are in the cache again, as in a server
            seconds[name].append(seconds_of(partial(classify, [text])))
    return {name: 1e3 * statistics.median(each) for name, each in seconds.items()}


def ours(run: Path, precision: str, *, compiled: bool = True) -> Classify:
    """The predictor."""
    predictor = Predictor.load(run, precision=precision, device="cpu")

    def classify(texts: Sequence[str]) -> list[str]:
        with native_kernels(enabled=compiled):
            return [each.label for each in predictor.classify(texts)]

    return classify


def theirs(run: Path, dtype: torch.dtype) -> Classify:
    """The same model directory in transformers, in batches of the order of the texts; `dtype` also of the weights."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    directory = local_model_directory(run)
    tokenizer: Any = AutoTokenizer.from_pretrained(directory, trust_remote_code=True)
    model: Any = AutoModelForSequenceClassification.from_pretrained(directory, trust_remote_code=True, dtype=dtype)
    model.eval()

    @torch.inference_mode()
    def classify(texts: Sequence[str]) -> list[str]:
        found: list[str] = []
        for first in range(0, len(texts), BATCH):
            inputs = tokenizer(list(texts[first : first + BATCH]), padding=True, truncation=True, return_tensors="pt")
            found += [model.config.id2label[index] for index in model(**inputs).logits.argmax(-1).tolist()]
        return found

    return classify


def linear(texts: Sequence[str], labels: Sequence[Any]) -> Classify:
    """The features and the regression of the baseline that `litebert finetune` prints."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline, make_union

    common = {"sublinear_tf": True, "strip_accents": "unicode", "dtype": np.float32, "max_features": MAX_NGRAMS}
    words, characters = (
        TfidfVectorizer(token_pattern=word_expression(), ngram_range=(1, 2), **common),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), **common),
    )
    regression = LogisticRegression(C=INVERSE_REGULARIZATION, solver="liblinear")
    model = make_pipeline(make_union(words, characters), regression)
    model.fit(texts, [str(label) for label in labels])
    return lambda texts: list(model.predict(texts))


def agreement(first: Sequence[str], second: Sequence[str]) -> float:
    """Share of equal labels."""
    return float(np.mean([one == other for one, other in zip(first, second, strict=True)]))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="run directory of a classifier")
    parser.add_argument("--train", type=Path, required=True, help=".tsv that the linear model is fitted to")
    parser.add_argument("--dev", type=Path, required=True)
    parser.add_argument("--text", default="text", help="column of the texts")
    parser.add_argument("--label", default="label")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--compare-kernels", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
