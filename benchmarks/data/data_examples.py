"""Speed of drawing masked examples on one core, the share of padding, and the time to reach an arbitrary step.

python benchmarks/data/data_examples.py CORPUS [MORE_CORPORA...]      further corpora are mixed in, with weight 0.3 each

The examples are checked first. Bytes of text per second are for comparison with `create_pretraining_data.py` of
google-research/albert, which draws its examples while it builds its files: see GOOGLE.
"""

import hashlib
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.pretrain_batches import PretrainBatch, PretrainBatches
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.tokenization.tokenizer import Tokenizer

STEPS, ROUNDS = 5, 3
BATCH_SIZE, MICROBATCH_SIZE = 256, 32
TARGETS = {128: 2000, 512: 800}
"""Length → examples per second and core at which a GPU never waits."""
GOOGLE = 0.28
"""MB of text a second that create_pretraining_data.py turns into examples, once; its recipe does so 40 times. Source:
google-research/albert at commit b772393 with TensorFlow 1.15, measured on one core with `--dupe_factor=1`."""
SAMPLE = 100_000
"""Tokens that are decoded to measure the bytes of text per token."""
WAYS = {
    "as they come": {"group_by_length": False},
    "by length (default)": {},
    "packed": {"packing": True},
    "packed spans": {"packing": True, "preset": "spanbert"},
    "next sentences": {"pairing": "nsp"},
    "preset google": {"preset": "google"},
}


def check(corpus: Corpus, max_length: int) -> None:
    """An epoch must contain the corpus and stay within the masking budget; microbatches must not change examples."""
    settings = SamplingSettings(max_length=max_length)
    every_size = [
        PretrainBatches(corpus, settings, batch_size=BATCH_SIZE, microbatch_size=size, seed=1) for size in (8, 32, 128)
    ]
    drawn = [Counter(digests(batches.microbatches(1))) for batches in every_size]
    assert drawn[0] == drawn[1] == drawn[2], "the size of microbatches changes the examples"
    spelt = torch.zeros(corpus.vocabulary.size, dtype=torch.int64)
    predicted = tokens = 0
    for batch in every_size[0].one_epoch():
        spelt += torch.bincount(unmasked(batch)[batch.attention_mask], minlength=len(spelt))
        predicted, tokens = predicted + len(batch.labels), tokens + batch.num_tokens
    spelt[[corpus.vocabulary.cls_id, corpus.vocabulary.sep_id]] = 0
    assert (spelt <= occurrences(corpus)).all(), "an example holds what the corpus does not"
    share = f"{int(spelt.sum()) / corpus.num_tokens:.1%} of the corpus"
    print(f"length {max_length}: checked; an epoch spells {share} and predicts {predicted / tokens:.2%} of its tokens")


def digests(batches: Sequence[PretrainBatch]) -> Iterator[str]:
    """A digest of each example: its text, its masked input, its label."""
    for batch in batches:
        lengths, labels = batch.attention_mask.sum(1).tolist(), batch.sentence_pair_labels.tolist()
        for text, shown, length, label in zip(unmasked(batch), batch.input_ids, lengths, labels, strict=True):
            content = f"{text[:length].tolist()} {shown[:length].tolist()} {label}"
            yield hashlib.sha256(content.encode()).hexdigest()


def unmasked(batch: PretrainBatch) -> torch.Tensor:
    """Int64 [B, S]: the tokens before masking."""
    ids = batch.input_ids.clone()
    ids.view(-1)[batch.masked_positions] = batch.labels
    return ids


def occurrences(corpus: Corpus) -> torch.Tensor:
    """Int64 [V]: how often the corpus has each token."""
    tokens = [torch.from_numpy(corpus.shard(number).tokens.astype("int64")) for number in range(len(corpus.entries))]
    return torch.bincount(torch.cat(tokens), minlength=corpus.vocabulary.size)


def bytes_a_token(corpus: Corpus) -> float:
    """Of text, by the first tokens of the corpus."""
    ids = corpus.shard(0).tokens[:SAMPLE].tolist()
    return len(Tokenizer.load(corpus.tokenizer_directory).decode(ids).encode()) / len(ids)


def measure(corpora: Sequence[Corpus], settings: SamplingSettings, *, token_bytes: float) -> str:
    """A row of results in processor time; the best of several rounds."""
    began = time.process_time()
    batches = PretrainBatches(
        corpora[0],
        settings,
        batch_size=BATCH_SIZE,
        microbatch_size=MICROBATCH_SIZE,
        seed=1,
        data_mixture=[(corpus, 0.3) for corpus in corpora[1:]],
    )
    batches.microbatches(1_000_000)
    resumed = time.process_time() - began
    batches.microbatches(0)
    rates = []
    for number in range(ROUNDS):
        began = time.process_time()
        drawn = [batch for step in range(number * STEPS, (number + 1) * STEPS) for batch in batches.microbatches(step)]
        rates.append(sum(batch.num_examples for batch in drawn) / (time.process_time() - began))
    tokens, places = sum(batch.num_tokens for batch in drawn), sum(batch.input_ids.numel() for batch in drawn)
    megabytes = max(rates) * tokens / sum(batch.num_examples for batch in drawn) * token_bytes / 1e6
    return f"{max(rates):10,.0f} {megabytes:9.1f} {megabytes / GOOGLE:9.0f}x {tokens / places:10.1%} {resumed:13.2f}"


def main(*directories: str) -> None:
    """Check the examples of the first corpus, then print a row for each length and way."""
    corpora = [Corpus.open(directory) for directory in directories]
    torch.set_num_threads(1)
    token_bytes = bytes_a_token(corpora[0])
    for max_length in TARGETS:
        check(corpora[0], max_length)
    print(f"batches of {BATCH_SIZE}, microbatches of {MICROBATCH_SIZE}; processor time of one thread")
    print("length  way                   examples/s  MB/s text    google  rows full  step 10^6 (s)")
    for max_length, target in TARGETS.items():
        for name, values in WAYS.items():
            settings = SamplingSettings.parse({"max_length": max_length, **values}, where=name)
            print(f"{max_length:6}  {name:20} {measure(corpora, settings, token_bytes=token_bytes)}", flush=True)
        print(f"        target               {target:10,}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
