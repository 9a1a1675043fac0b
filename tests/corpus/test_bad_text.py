"""The table of bad text of docs/guides/corpus.md: what a build does with it, its messages and its counts."""

import gzip
import json
import logging
from pathlib import Path

import pytest

from litebert.corpus.build.build_corpus import build_corpus
from litebert.corpus.corpus_settings import CorpusSettings
from litebert.corpus.format.verification import verify_corpus
from litebert.corpus.readers.decompression import ZSTD
from litebert.errors import DataError

zstd = pytest.importorskip(ZSTD)

GOOD = "Bado kilu.\nMera noti.\n"
ROWS = "".join(json.dumps({"text": text}) + "\n" for text in ("Bado kilu.", "Mera noti."))
CUT_GZ = gzip.compress(GOOD.encode() * 9000)[:-9]
CUT_ZST = zstd.compress(GOOD.encode() * 9000)[:-9]
DOCS = Path(__file__).parents[2] / "docs/guides/corpus.md"


def built(tmp_path, tokenizer, name, content, **settings):
    """Documents of the corpus of this file and a good one, and the counts."""
    (tmp_path / "good.txt").write_text(GOOD)
    (tmp_path / name).write_bytes(content)
    settings = CorpusSettings(validation_fraction=0, **settings)
    report = build_corpus([tmp_path / "good.txt", tmp_path / name], tokenizer, settings, tmp_path / "corpus")
    verify_corpus(tmp_path / "corpus")
    counts = {key: count for key, count in report.counts.items() if key not in ("files read", "documents read")}
    return report.splits["train"].documents - 1, counts


TAKEN = {
    "invalid UTF-8": ("a.txt", b"ba\xff do\nki\n", 1, {"lines repaired": 1}),
    "carriage returns": ("a.txt", b"Ba do.\r\n\r\nKi lu.\r\n", 2, {}),
    "byte order mark": ("a.txt", b"\xef\xbb\xbfBa do.\n", 1, {}),
    "no newline at the end": ("a.txt", b"Ba do.\n\nKi lu.", 2, {}),
    "emoji only": ("a.txt", "😀😀\n".encode(), 1, {"unknown tokens": 1}),
    "empty file": ("a.txt", b"", 0, {"files without text": 1}),
    "blank lines only": ("a.txt", b" \n\t\n\n", 0, {"files without text": 1}),
    "empty compressed file": ("a.txt.gz", gzip.compress(b""), 0, {"files without text": 1}),
    "100,000 blank lines": ("a.txt.zst", zstd.compress(b"\n" * 10**5 + b"Ba."), 1, {}),
    "lone surrogate": ("a.jsonl", b'{"text": "ba \\ud83d do"}', 1, {"lines repaired": 1}),
    "surrogate pair": ("a.jsonl", b'{"text": "ba \\ud83d\\ude00 do"}', 1, {"unknown tokens": 1}),
    "escaped NUL": ("a.jsonl", b'{"text": "ba\\u0000 do"}', 1, {}),
    "empty documents": ("a.jsonl", b'{"text": ""}\n{"text": " "}\n' + ROWS.encode(), 2, {"empty documents": 2}),
    "a mark without a letter": (
        "a.txt",
        "\u0301\n".encode(),
        0,
        {"documents without tokens": 1, "sentences without tokens": 1},
    ),
}


@pytest.mark.parametrize("case", TAKEN)
def test_build_corpus_accepts_and_counts_unusual_text(tmp_path, tokenizer, case):
    name, content, documents, counts = TAKEN[case]
    assert built(tmp_path, tokenizer, name, content) == (documents, counts)


REFUSED = {
    "UTF-16": ("a.txt", GOOD.encode("utf-16"), r"a\.txt:1: is UTF-16, expected UTF-8"),
    "UTF-16 without a mark": (
        "a.txt",
        GOOD.encode("utf-16-le"),
        r"a\.txt:1: has NUL bytes, so it is binary or UTF-16",
    ),
    "NUL": ("a.txt", b"Ba do.\nKi\0lu.\n", r"a\.txt:2: has NUL bytes"),
    "cut-off gz": ("a.txt.gz", CUT_GZ, r"a\.txt\.gz:\d+: damaged or truncated"),
    "cut-off zst": ("a.txt.zst", CUT_ZST, r"a\.txt\.zst:\d+: damaged or truncated"),
    "not compressed at all": ("a.txt.gz", GOOD.encode(), r"a\.txt\.gz:1: damaged or truncated"),
    "not JSON": (
        "a.jsonl",
        ROWS.encode() + b"{text: no}\n",
        r"a\.jsonl:3: not JSON .*; correct the row or set --invalid-rows skip",
    ),
    "wrong JSON key": ("a.jsonl", b'{"story": "Ba do."}\n', r"a\.jsonl:1: expected text under 'text', found NoneType"),
    "no text under the key": ("a.jsonl", ROWS.encode() + b'{"text": 5}', r"a\.jsonl:3: expected text .* found int"),
    "UTF-16 rows": ("a.jsonl", ROWS.encode("utf-16"), r"a\.jsonl:1: is UTF-16"),
    "text in another encoding": (
        "a.txt",
        "Bä do.\n".encode("latin-1") * 10,
        r"a\.txt:1: 10 of 10 lines, .* not UTF-8; name the encoding of the files, such as --encoding cp1252",
    ),
    "unknown ending": ("a.doc", b"Ba do.", r"a\.doc: unknown file format"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_build_corpus_refuses_invalid_text_with_file_and_line(tmp_path, tokenizer, case):
    name, content, message = REFUSED[case]
    with pytest.raises(DataError, match=message):
        built(tmp_path, tokenizer, name, content)
    assert not (tmp_path / "corpus").exists()


CHOSEN = {
    "invalid UTF-8": ("a.txt", b"ba do\nba\xff do\n", {"invalid_utf8": "error"}, r"a\.txt:2: byte 3 is not UTF-8"),
    "lone surrogate": (
        "a.jsonl",
        b'{"text": "\\ud83d"}',
        {"invalid_utf8": "error"},
        r"a\.jsonl:1: has half of a surrogate",
    ),
    "wrong JSON key": (
        "a.jsonl",
        b'{"story": "Ba do."}\n{"story": "Ba."}',
        {"invalid_rows": "skip"},
        {"rows skipped": 2},
    ),
    "not JSON": ("a.jsonl", b"{text: no}\n" + ROWS.encode(), {"invalid_rows": "skip"}, {"rows skipped": 1}),
}


@pytest.mark.parametrize("case", CHOSEN)
def test_invalid_utf8_and_invalid_rows_settings_choose_error_or_count(tmp_path, tokenizer, case, caplog):
    name, content, settings, outcome = CHOSEN[case]
    if isinstance(outcome, str):
        with pytest.raises(DataError, match=outcome):
            built(tmp_path, tokenizer, name, content, **settings)
        return
    with caplog.at_level(logging.WARNING):
        _, counts = built(tmp_path, tokenizer, name, content, **settings)
    assert {key: counts[key] for key in outcome} == outcome
    assert f"{tmp_path / name}:1: rows skipped ({outcome['rows skipped']} in this file)" in caplog.text


def test_build_corpus_counts_100_000_empty_documents(tmp_path, tokenizer):
    content = gzip.compress(b'{"text": ""}\n' * 10**5 + ROWS.encode(), compresslevel=1)
    assert built(tmp_path, tokenizer, "a.jsonl.gz", content) == (2, {"empty documents": 10**5})


@pytest.mark.parametrize("case", sorted({*TAKEN, *REFUSED, *CHOSEN, "100,000 empty documents"}))
def test_corpus_guide_has_a_row_for_each_kind_of_unusual_text(case):
    assert f"| {case} |" in DOCS.read_text(encoding="utf-8")


def test_build_corpus_counts_every_document_that_is_left_out(tmp_path, tokenizer):
    texts = ["Ba do. Ki lu.", "Ba do. Ki lu.", "ba DO ki lu!", "x", "\u0301\u0301", "No ti. Ra lu. " * 40, "Lu me."]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts * 5))
    settings = CorpusSettings(
        dedup_exact=True,
        dedup_minhash_threshold=0.8,
        min_document_chars=2,
        max_document_chars=400,
        min_sentences=2,
        shard_bytes=2000,
        validation_fraction=0,
    )
    report = build_corpus(tmp_path / "a.jsonl", tokenizer, settings, tmp_path / "corpus")
    counts = report.counts
    dropped = sum(count for name, count in counts.items() if "document" in name and name != "documents read")
    assert sum(split.documents for split in report.splits.values()) == 1
    assert counts["documents read"] == 35 == 1 + dropped
    assert len(counts) >= 8
