import logging

import pytest

from litebert.corpus.build import build_progress as progress
from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.build.build_progress import BuildProgress, BuildTracker, LogProgress
from litebert.corpus.build.shard_writer import ShardRecord
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.format.shards import ShardEntry


@pytest.fixture
def time(monkeypatch):
    """A clock that the test sets."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def record(*, reused=False) -> ShardRecord:
    return ShardRecord(ShardEntry("train/00000", 10, 100, 1000), "source", "content", {}, 1_000_000, reused)


def test_build_tracker_computes_rate_and_time_left(time):
    track = BuildTracker(4_000_000)
    time[0] += 2
    now = track.add(record(), 1_000_000)
    assert (now.shards, now.documents, now.tokens, now.share_read) == (1, 10, 1000, 0.25)
    assert now.megabytes_per_second == pytest.approx(0.5)
    assert now.seconds_left == pytest.approx(6)
    assert str(now) == "25.0%, 1 shards, 10 documents, 1,000 tokens, 0.5 MB/s, 6 s left"


def test_build_tracker_ignores_reused_shards_in_the_rate(time):
    track = BuildTracker(4_000_000)
    time[0] += 0.01
    assert track.add(record(reused=True), 2_000_000).seconds_left is None
    time[0] += 1
    now = track.add(record(), 3_000_000)
    assert now.shards == 2
    assert now.megabytes_per_second == pytest.approx(1)
    assert now.seconds_left == pytest.approx(1)


def test_build_tracker_without_files_has_no_share_and_no_time_left(time):
    time[0] += 1
    assert str(BuildTracker(0).add(record(), 0)).startswith("1 shards, 10 documents")


def test_log_progress_logs_at_most_every_so_many_seconds(time, caplog):
    log = LogProgress(seconds=10)
    now = BuildProgress(1, 2, 3, None, 4.0, None)
    with caplog.at_level(logging.INFO):
        for seconds in (0, 5, 4, 2, 5):
            time[0] += seconds
            log(now)
    assert caplog.messages == ["corpus: 1 shards, 2 documents, 3 tokens, 4.0 MB/s"] * 2


@pytest.mark.parametrize("workers", [1, 2])
def test_build_corpus_calls_progress_after_each_shard(tmp_path, tokenizer, documents, workers):
    (tmp_path / "text.txt").write_text("\n\n".join("\n".join(document.sentences) for document in documents))
    seen: list[BuildProgress] = []
    settings = CorpusSettings(shard_bytes=2000)
    report = build_corpus(
        tmp_path / "text.txt", tokenizer, settings, tmp_path / "corpus", workers=workers, progress=seen.append
    )
    assert [progress.shards for progress in seen] == list(range(1, sum(s.shards for s in report.splits.values()) + 1))
    assert seen[-1].share_read == 1
    assert seen[-1].seconds_left == 0
    assert seen[-1].documents == 60
