"""A build that is killed, or has no room, leaves no corpus and loses no finished shard."""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time

import pytest

from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.format.verification import verify_corpus
from support.data.directories import content

pytestmark = pytest.mark.usefixtures("forked_python")

KILLS = 10
SETTINGS = CorpusSettings(sentences="line", shard_bytes=500, dedup_minhash_threshold=0.9)
SLOW_BUILD = """
import sys, time
from pathlib import Path
from litebert.corpus.build import build_corpus as build
from litebert.corpus.build import shard_writer
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.tokenization.tokenizer import Tokenizer

encode = shard_writer._encode
shard_writer._encode = lambda *arguments: (time.sleep(0.05), encode(*arguments))[1]
if __name__ == "__main__":
    text, tokenizer, out = sys.argv[1:]
    settings = CorpusSettings(sentences="line", shard_bytes=500, dedup_minhash_threshold=0.9)
    build.build_corpus(text, Tokenizer.load(tokenizer), settings, Path(out))
"""


@pytest.fixture
def text(tmp_path, documents):
    path = tmp_path / "text.txt"
    path.write_text("\n\n".join("\n".join(document.sentences) for document in documents))
    return path


def finished(building):
    """Shard → the time it was written, for those that are whole."""
    return {path.parent: path.stat().st_mtime_ns for path in building.glob("*/0*/shard.json")}


def test_build_corpus_after_ten_kills_is_the_same_and_writes_no_shard_twice(tmp_path, tokenizer, text):
    tokenizer.save(tmp_path / "tokenizer")
    command = [sys.executable, "-c", SLOW_BUILD, text, tmp_path / "tokenizer", tmp_path / "corpus"]
    building, moments, kept = tmp_path / ".corpus.building", random.Random(1), {}
    for kill in range(KILLS):
        process = subprocess.Popen([str(part) for part in command])
        # at the latest when the next shard is whole, so that ten kills come before the end
        while process.poll() is None and len(finished(building)) <= min(len(kept), kill):
            time.sleep(0.005)
        time.sleep(moments.uniform(0, 0.05))
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert not (tmp_path / "corpus").exists()
        assert kept.items() <= finished(building).items()
        kept = finished(building)
    report = build_corpus(text, tokenizer, SETTINGS, tmp_path / "corpus")
    assert report.reused_shards == len(kept) >= 2
    verify_corpus(tmp_path / "corpus")
    build_corpus(text, tokenizer, SETTINGS, tmp_path / "other")
    assert content(tmp_path / "corpus") == content(tmp_path / "other")


def test_build_corpus_without_disk_space_reports_it_and_resumes_later(tmp_path, tokenizer, text):
    tokenizer.save(tmp_path / "tokenizer")
    command = [sys.executable, "-m", "litebert", "corpus", "build", text, "--tokenizer", tmp_path / "tokenizer"]
    command += ["--out", tmp_path / "corpus", "--shard-bytes", "2000", "--sentences", "line"]
    largest = max(path.stat().st_size for path in (tmp_path / "tokenizer").iterdir())

    def limit_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest - 1, largest - 1))

    limited = subprocess.run([str(part) for part in command], preexec_fn=limit_files, capture_output=True, text=True)
    assert limited.returncode == 4
    assert "could not be written: the file is larger than the system allows" in limited.stderr
    assert "Traceback" not in limited.stderr
    assert not (tmp_path / "corpus").exists()
    again = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert again.returncode == 0
    assert "shards reused from an interrupted build" in again.stdout
    verify_corpus(tmp_path / "corpus")


@pytest.mark.skipif(shutil.which("mount") is None or os.geteuid() != 0, reason="needs root to mount a small disk")
def test_build_corpus_distinguishes_a_full_disk_from_a_file_size_limit(tmp_path, tokenizer, text):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("a small disk could not be mounted")
    try:
        tokenizer.save(tmp_path / "tokenizer")
        command = [sys.executable, "-m", "litebert", "corpus", "build", text, "--tokenizer", tmp_path / "tokenizer"]
        command += ["--out", disk / "corpus", "--shard-bytes", "2000"]
        result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        assert result.returncode == 4
        assert "could not be written: the disk is full" in result.stderr
        assert not (disk / "corpus").exists()
    finally:
        subprocess.run(["umount", disk], check=True)
