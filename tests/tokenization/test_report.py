import pytest

from litebert.tokenization.report import VocabularyReport, report_on

from .material import number_texts


def test_a_text_of_known_characters_is_covered(numbers):
    report = report_on(numbers, number_texts())
    assert report.coverage == 1
    assert report.words == sum(len(text.split()) for text in number_texts())
    assert report.pieces == sum(len(numbers.encode(text)) for text in number_texts())
    assert report.pieces_per_word == report.pieces / report.words
    assert 0.5 < report.used_share <= 1


def test_unknown_characters_are_counted(numbers):
    report = report_on(numbers, ["the жж street", "the 你 street"])
    assert report.unknown_characters == 3
    assert report.coverage == pytest.approx(1 - 3 / 21)


def test_no_text_gives_a_report(numbers):
    report = report_on(numbers, [])
    assert report == VocabularyReport(0, 0, 0, 0, 0, vocab_size=numbers.vocab_size)
    assert (report.coverage, report.pieces_per_word, report.used_share) == (1, 0, 0)
