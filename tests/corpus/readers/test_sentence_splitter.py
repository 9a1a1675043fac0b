import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.corpus.readers.sentence_splitter import split_long_sentence, split_sentences

CASES = [
    ("First. Second! Third? Fourth", ["First.", "Second!", "Third?", "Fourth"]),
    ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
    ("It cost 3.5 million. 20 came.", ["It cost 3.5 million.", "20 came."]),
    ("J. Smith met Dr. Jones at St. Mary in the U.S. Army.", ["J. Smith met Dr. Jones at St. Mary in the U.S. Army."]),
    ("This is it. That is all.", ["This is it.", "That is all."]),
    ("e.g. this, etc. and so on.", ["e.g. this, etc. and so on."]),
    ("Wait... what? Yes.", ["Wait... what?", "Yes."]),
    ("今天天气很好。我们去公园吧！好。", ["今天天气很好。", "我们去公园吧！", "好。"]),
    ("「はい。」と言った。そして去った。", ["「はい。」と言った。", "そして去った。"]),
    ("他说：“你好。”然后走了。好。", ["他说：“你好。”然后走了。", "好。"]),
    ("“你好。”“再见。”", ["“你好。”", "“再见。”"]),
    ("円周率は３．１４１、約１２．３４だ．次", ["円周率は３．１４１、約１２．３４だ．", "次"]),
    ("２０年．１９９９．「はい．」と．終", ["２０年．", "１９９９．", "「はい．」と．", "終"]),
    ("Ｊ．Ｓ．バッハは作曲家だ．次", ["Ｊ．Ｓ．バッハは作曲家だ．", "次"]),
    ("Er kam am 12. Oktober 1837. Gut.", ["Er kam am 12. Oktober 1837.", "Gut."]),
    ("Gauß (* 30. April 1777). Im 19. Jahrhundert", ["Gauß (* 30. April 1777).", "Im 19. Jahrhundert"]),
    ("« Non ! » dit-il. Puis « Oui ! », dit-elle.", ["« Non ! » dit-il.", "Puis « Oui ! », dit-elle."]),
    ("Il dit. « Oui ! » Puis « Non ! »", ["Il dit.", "« Oui ! »", "Puis « Non ! »"]),
    ("„Das ist gut.“ Er ging. ‚Ja.‘ Er kam.", ["„Das ist gut.“", "Er ging.", "‚Ja.‘", "Er kam."]),
    ("Er ging. »Komm.« Er ging.", ["Er ging.", "»Komm.«", "Er ging."]),
    ("“Go.” “No.” He left.", ["“Go.”", "“No.”", "He left."]),
    ("«Да.» Он ушёл.", ["«Да.»", "Он ушёл."]),
    ("डॉ. राम और प्रो. शर्मा आए। वे गए।", ["डॉ. राम और प्रो. शर्मा आए।", "वे गए।"]),
    ("वह गया है. वह आया.", ["वह गया है.", "वह आया."]),
    ("ดร. สมชาย มา", ["ดร. สมชาย มา"]),
    ("TP. Hồ Chí Minh đẹp. GS. Nguyễn nói.", ["TP. Hồ Chí Minh đẹp.", "GS. Nguyễn nói."]),
    ("그는 갔다. 그리고 왔다.", ["그는 갔다.", "그리고 왔다."]),
    ("Τι είναι\u037e Δεν ξέρω.", ["Τι είναι\u037e", "Δεν ξέρω."]),
    ("ይህ ምንድን ነው፧ ሰላም ነው። አዎ።", ["ይህ ምንድን ነው፧", "ሰላም ነው።", "አዎ።"]),
    ("यह एक वाक्य है। यह दूसरा है।", ["यह एक वाक्य है।", "यह दूसरा है।"]),
    ("هل هذا سؤال؟ نعم.", ["هل هذا سؤال؟", "نعم."]),
    ("Привет. Как дела?", ["Привет.", "Как дела?"]),
    ("", []),
    ("   ", []),
    ("...", ["..."]),
    ("😀😀", ["😀😀"]),
    ("The sample.       Next.", ["The sample.", "Next."]),
    ("Plan B.       Next.", ["Plan B.       Next."]),
]


@pytest.mark.parametrize(("paragraph", "sentences"), CASES)
def test_split_sentences_ends_sentences_as_a_reader_does(paragraph, sentences):
    assert split_sentences(paragraph) == sentences


@given(st.text(alphabet='aB1.!?。．」“»ก") \n', max_size=80))
def test_split_sentences_loses_only_spaces(paragraph):
    assert "".join("".join(split_sentences(paragraph)).split()) == "".join(paragraph.split())


@given(st.text(alphabet='aB1.!?") ', max_size=60))
def test_split_sentences_ascii_pattern_agrees_with_the_general_one(paragraph):
    ascii_sentences = split_sentences(paragraph + " x")
    assert split_sentences(paragraph + " é") == [sentence.replace("x", "é") for sentence in ascii_sentences]


@given(st.text(alphabet="ab  ", max_size=60), st.integers(1, 12))
def test_split_long_sentence_loses_only_spaces_and_keeps_the_limit(sentence, max_chars):
    pieces = list(split_long_sentence(sentence.strip(), max_chars=max_chars))
    assert all(0 < len(piece) <= max_chars for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(sentence.split())


def test_split_long_sentence_cuts_at_spaces():
    assert list(split_long_sentence("aaa bbb ccccccccc d", max_chars=7)) == ["aaa bbb", "ccccccc", "cc d"]


@given(st.lists(st.sampled_from(["a", " b", "ก", "ก่", "ก่์", "e\u0301"])), st.integers(3, 12))
def test_split_long_sentence_keeps_marks_with_their_letters(letters, max_chars):
    pieces = list(split_long_sentence("".join(letters).strip(), max_chars=max_chars))
    assert all(len(piece) <= max_chars for piece in pieces)
    assert not {piece[0] for piece in pieces} & set("่์\u0301")
    assert "".join(pieces).replace(" ", "") == "".join(letters).replace(" ", "")


def test_split_long_sentence_cuts_a_run_of_marks_at_the_limit():
    assert list(split_long_sentence("\u0301" * 7, max_chars=3)) == ["\u0301" * 3, "\u0301" * 3, "\u0301"]


def test_split_sentences_handles_a_line_of_a_megabyte():
    assert len(split_sentences("Word. " * 200_000)) == 200_000


def test_split_long_sentence_handles_text_without_spaces():
    assert sum(map(len, split_long_sentence("x" * 20_000_000, max_chars=1000))) == 20_000_000
