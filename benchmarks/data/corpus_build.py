"""Speed of `corpus build` on one core, compared with raw SentencePiece on the same sentences; and its peak memory.

python benchmarks/data/corpus_build.py speed TOKENIZER TEXT...
python benchmarks/data/corpus_build.py memory TOKENIZER [--gigabytes 2] [--workers 1 2] [--scratch DIRECTORY]
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import sentencepiece

from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.readers.documents import find_files, read_documents
from litebert.corpus.readers.sentence_splitter import split_sentences
from litebert.files import sha256
from litebert.tokenization.normalize import normalize
from litebert.tokenization.tokenizer import Tokenizer

ROUNDS = 3
BATCH_CHARACTERS = 2**19


def speed(arguments: argparse.Namespace) -> None:
    """Both alternately, in processor time of one thread; the best of several rounds."""
    tokenizer = Tokenizer.load(arguments.tokenizer)
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(tokenizer.model.content)
    sentences = sentences_of(arguments.texts)
    compare(tokenizer, processor, sentences)
    megabytes = sum(len(sentence.encode()) for sentence in sentences) / 1e6
    chunks = batches(sentences)
    builds, raws = [], []
    for _ in range(ROUNDS):
        raws.append(seconds(lambda: [processor.encode(chunk, num_threads=1) for chunk in chunks]))
        builds.append(seconds(lambda: build(tokenizer, arguments.texts)))
        print(f"  raw {megabytes / raws[-1]:5.1f} MB/s, build {megabytes / builds[-1]:5.1f} MB/s", flush=True)
    print(f"{megabytes:.1f} MB, {len(sentences):,} sentences; best of {ROUNDS} rounds, processor time of one thread")
    print(f"raw SentencePiece {megabytes / min(raws):.1f} MB/s, text to corpus {megabytes / min(builds):.1f} MB/s")
    of_rounds = [raw / build for raw, build in zip(raws, builds, strict=True)]
    print(f"ratio {min(raws) / min(builds):.2f} (rounds {min(of_rounds):.2f} to {max(of_rounds):.2f})")


def sentences_of(texts: list[str]) -> list[str]:
    """All sentences of the files, as the build splits them."""
    documents = read_documents(find_files(texts), CorpusSettings(), Counter())
    return [sentence for document in documents for line in document.sentences for sentence in split_sentences(line)]


def compare(tokenizer: Tokenizer, processor: sentencepiece.SentencePieceProcessor, sentences: list[str]) -> None:
    """Raise ValueError if the ids differ for another reason than the digit-comma rule of google-research/albert."""
    settings = tokenizer.settings
    plain = [normalize(s, lowercase=settings.lowercase, keep_accents=settings.keep_accents) for s in sentences]
    pairs = zip(plain, tokenizer.encode_batch(sentences), processor.encode(plain, num_threads=1), strict=True)
    other = [text for text, ours, raw in pairs if ours != raw]
    if wrong := [text for text in other if not re.search(r"\d,", text)]:
        raise ValueError(f"other ids, and no digit with a comma: {wrong[0]!r}")
    same = len(sentences) - len(other)
    print(f"ids: {same:,} of {len(sentences):,} sentences the same, the others by the comma rule")


def batches(sentences: list[str]) -> list[list[str]]:
    """The sentences in lists as long as the ones that the build encodes."""
    result: list[list[str]] = [[]]
    size = 0
    for sentence in sentences:
        if size >= BATCH_CHARACTERS:
            result.append([])
            size = 0
        result[-1].append(sentence)
        size += len(sentence)
    return result


def build(tokenizer: Tokenizer, texts: list[str]) -> None:
    """From text to a corpus directory, which is removed."""
    with tempfile.TemporaryDirectory() as directory:
        build_corpus(texts, tokenizer, CorpusSettings(), Path(directory) / "corpus")


def seconds(action: Callable[[], object]) -> float:
    """Processor time of one call."""
    started = time.process_time()
    action()
    return time.process_time() - started


def memory(arguments: argparse.Namespace) -> None:
    """Build from generated text with a line of 64 MB and a document of 1 GB; the peak of each process is measured."""
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as directory:
        text = Path(directory) / "text.txt"
        write_text(text, size=int(arguments.gigabytes * 1e9))
        print(f"{text.stat().st_size / 1e9:.2f} GB of text", flush=True)
        for workers in arguments.workers:
            out = Path(directory) / f"corpus-{workers}"
            command = [sys.executable, "-c", MEASURED, text, arguments.tokenizer, out, workers]
            subprocess.run([str(part) for part in command], check=True)
            print(f"SHA256SUMS: {sha256(out / 'SHA256SUMS')}", flush=True)


def write_text(path: Path, *, size: int) -> None:
    """A line of 64 MB without a space, one of 64 MB of tiny sentences, a document of half the size, many small ones."""
    paragraphs = [
        " ".join(f"Word{number * factor % 9973}, and so on." for factor in range(90)) for number in range(500)
    ]
    with path.open("w") as file:
        file.write("x" * 64_000_000 + "\n" + "Ab cd! " * (64_000_000 // 7) + "\n\n")
        while file.tell() < size / 2:
            file.write("\n".join(paragraphs) + "\n")
        while file.tell() < size:
            file.write("\n\n".join(f"{file.tell()} {paragraph}" for paragraph in paragraphs) + "\n\n")


MEASURED = """
import resource, sys
from pathlib import Path
from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.machine import peak_process_memory
from litebert.tokenization.tokenizer import Tokenizer
if __name__ == "__main__":
    text, tokenizer, out, workers = sys.argv[1:]
    settings = CorpusSettings(dedup_exact=True)
    report = build_corpus(text, Tokenizer.load(tokenizer), settings, Path(out), workers=int(workers))
    own, largest = peak_process_memory() / 1e9, 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e9
    print(f"{workers} workers: {own:.2f} GB in the first process, {largest:.2f} GB in the largest worker,",
          f"{report.text_bytes / 1e6 / report.seconds:.1f} MB/s; {report.counts}", flush=True)
"""
"""A build in a new process. RUSAGE_SELF would begin at the memory of the process that started this one; RUSAGE_CHILDREN
begins at that of this process, so the figure of the workers is an upper bound."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    subparsers = parser.add_subparsers(required=True)
    for function in (speed, memory):
        command = subparsers.add_parser(function.__name__, help=function.__doc__)
        command.add_argument("tokenizer")
        command.set_defaults(run=function)
        if function is speed:
            command.add_argument("texts", nargs="+")
        else:
            command.add_argument("--gigabytes", type=float, default=2)
            command.add_argument("--workers", type=int, nargs="+", default=[1, 2])
            command.add_argument("--scratch", help="directory with room for twice the text")
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
