import pytest

from litebert.tokenization.vocabulary_report import SplitWord, VocabularyReport, report_on
from support.data.tokenizer_material import number_texts


def test_vocabulary_report_covers_known_characters(numbers):
    report = report_on(numbers, number_texts())
    assert report.figures()["coverage"] == 1
    assert report.words == sum(len(text.split()) for text in number_texts())
    assert report.pieces == sum(len(numbers.encode(text)) for text in number_texts())
    assert report.figures()["pieces_per_word"] == report.pieces / report.words
    assert 0.5 < report.figures()["used_share"] <= 1


def test_vocabulary_report_counts_unknown_characters(numbers):
    report = report_on(numbers, ["the жж street", "the 你 street"])
    assert report.unknown_characters == 3
    assert report.figures()["coverage"] == pytest.approx(1 - 3 / 21)


def test_vocabulary_report_lists_unknown_strings(numbers):
    report = report_on(numbers, ["жж (you)", "жж", "7 you"])
    assert report.unknown == (("жж", 2),)
    assert report.figures()["unknown_rate"] == pytest.approx(2 / report.pieces)
    assert report.most_split[0] == SplitWord("you", 2, tuple(numbers.pieces("you")))
    assert "'жж' 2×" in report.to_text()
    assert "you (▁" in report.to_text()


def test_vocabulary_report_lists_split_words_without_signs_and_digits(numbers):
    report = report_on(numbers, ['"you," 1999 (you) ' + "y" * 50])
    assert [(word.word, word.occurrences) for word in report.most_split] == [("you", 2)]


def test_vocabulary_report_lists_split_words_with_their_marks(numbers):
    report = report_on(numbers, ["(हिन्दी) हिन्दी।"])
    assert [(word.word, word.occurrences) for word in report.most_split] == [("हिन्दी", 2)]


def test_vocabulary_report_orders_split_words_by_their_pieces_beyond_the_first(numbers):
    """A few words of many pieces come before many words of few, which have more pieces in all."""
    short, long, occurrences = "you", "youyouyou", 10
    beyond = {word: len(numbers.pieces(word)) - 1 for word in (short, long)}
    often = (occurrences * beyond[long] - 1) // beyond[short]
    assert often * (beyond[short] + 1) > occurrences * (beyond[long] + 1)
    report = report_on(numbers, [" ".join([short] * often + [long] * occurrences)])
    assert [each.word for each in report.most_split] == [long, short]


def test_vocabulary_report_counts_whole_words(numbers):
    report = report_on(numbers, ["the the street you"])
    whole = sum(len(numbers.encode(word)) == 1 for word in ("the", "the", "street", "you"))
    assert (report.whole_words, report.figures()["whole_word_share"]) == (whole, whole / 4)
    assert report.figures()["characters_per_piece"] == 15 / report.pieces


def test_vocabulary_report_of_no_text(numbers):
    report = report_on(numbers, [])
    assert report == VocabularyReport(0, 0, 0, 0, 0, 0, 0, numbers.vocab_size, (), (), 0, ())
    assert set(report.figures().values()) == {0, 1}
    assert "unknown:" not in report.to_text()
    assert "lost marks" not in report.to_text()


@pytest.mark.parametrize(("words", "has_advice"), [(["façade"] * 2, True), (["façade"], False)])
def test_vocabulary_report_advises_to_keep_accents_above_one_percent(numbers, words, has_advice):
    report = report_on(numbers, [" ".join(words + ["street"] * (100 - len(words)))])
    assert report.figures()["without_marks_share"] == len(words) / 100
    text = f"lost marks: {len(words)}.00% of the words lose accents or other marks: façade → facade {len(words)}×"
    assert text in report.to_text()
    assert ("--keep-accents" in report.to_text()) == has_advice
