"""Time and memory to reach a batch of a corpus of a given size, whose index is simulated.

python benchmarks/data/corpus_scale.py OUT.json [--tokens 30000000 300000000 3000000000]

The corpus has sentences of 20 tokens, documents of 50 sentences and shards of 7 million tokens. All shards are hard
links to one, so that the disk holds one; each is mapped and read like any other. A new process measures each size.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from litebert.corpus.format.shards import (
    DESCRIPTION,
    WORD_STARTS,
    Corpus,
    Shard,
    ShardEntry,
    Vocabulary,
    write_description,
)
from litebert.corpus.sampling.pretrain_batches import PretrainBatches
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.files import sha256, write_text
from litebert.machine import peak_process_memory, process_memory, reset_peak_process_memory
from litebert.manifest import MANIFEST, update_manifest

SENTENCE, DOCUMENT, SHARD = 20, 50, 7_000_000
VOCAB_SIZE = 30_000
FAR = 10**6
"""Step that a resumed run starts at."""


def simulate(directory: Path, tokens: int) -> None:
    """A corpus directory of about `tokens` tokens."""
    sentences = SHARD // SENTENCE
    ids = np.random.default_rng(0).integers(5, VOCAB_SIZE, SHARD).astype(np.uint16)
    index = [np.arange(0, size + 1, step, dtype=np.uint32) for size, step in ((SHARD, SENTENCE), (sentences, DOCUMENT))]
    first = directory / "train/00000"
    first.mkdir(parents=True)
    Shard(ids, *index).save(first)
    entries = []
    for number in range(max(1, tokens // SHARD)):
        path = directory / f"train/{number:05d}"
        if number:
            path.mkdir()
            for file in first.iterdir():
                os.link(file, path / file.name)
        entries.append(ShardEntry(f"train/{number:05d}", sentences // DOCUMENT, sentences, SHARD))
    vocabulary = Vocabulary(0, 1, 2, 3, 4, word_starts=np.ones(VOCAB_SIZE, dtype=bool))
    description = {"fingerprint": "simulated", "tokenizer_fingerprint": "simulated"}
    write_description(directory, vocabulary, {"train": entries, "validation": []}, **description)
    digests = {path.name: sha256(path) for path in first.iterdir()}
    lines = [f"{digest}  {entry.path}/{name}\n" for entry in entries for name, digest in digests.items()]
    write_text(directory / MANIFEST, "".join(lines))
    update_manifest(directory, (DESCRIPTION, WORD_STARTS))


def measure(directory: Path) -> dict[str, float]:
    """Seconds to open the corpus and draw a batch, to draw one at step FAR, and the MB of memory, mapped files too."""
    reset_peak_process_memory()
    before, start = process_memory(), time.perf_counter()
    settings = SamplingSettings(max_length=128)
    batches = PretrainBatches(Corpus.open(directory), settings, batch_size=256, microbatch_size=32, seed=0)
    batches.microbatches(0)
    opened = time.perf_counter()
    batches.microbatches(FAR)
    far = time.perf_counter()
    # Not ru_maxrss: in a new process it begins at the memory of the one that started it.
    memory = (peak_process_memory() - before) / 1e6
    return {"first_batch_s": opened - start, "batch_at_a_million_s": far - opened, "memory_mb": memory}


def main() -> None:
    """Measure every size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tokens", type=int, nargs="+", default=[30_000_000, 300_000_000, 3_000_000_000])
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.out)))
        return
    results = []
    for tokens in arguments.tokens:
        with tempfile.TemporaryDirectory() as directory:
            simulate(Path(directory), tokens)
            command = [sys.executable, __file__, directory, "--measure"]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        results.append({"tokens": tokens, **{name: round(value, 3) for name, value in found.items()}})
        print(results[-1])
    arguments.out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
