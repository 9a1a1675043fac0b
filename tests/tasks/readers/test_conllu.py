"""Universal Dependencies files."""

import pytest

from litebert.errors import DataError
from litebert.tasks.labelled_data import LabelledData
from litebert.tasks.read_labelled import read_labelled
from litebert.tasks.readers.columns import Columns
from litebert.tasks.readers.conllu import iter_sentences, with_label
from litebert.tasks.readers.tables import read_table


def word(number, form, upos="NOUN", xpos="NN"):
    return f"{number}\t{form}\t_\t{upos}\t{xpos}\t_\t0\troot\t_\t_\n"


SPANISH = (
    "# sent_id = 1\n# text = vámonos al mar\n1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_\n"
    + word(1, "vamos", "VERB", "V")
    + word(2, "nos", "PRON", "P")
    + "3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_\n"
    + word(3, "a", "ADP", "S")
    + word(4, "el", "DET", "D")
    + word(5, "mar")
    + "5.1\t_\t_\tVERB\t_\t_\t_\t_\t_\t_\n\n\n# only a comment\n\n"
    + word(1, "_", "PUNCT", "Z")
    + word(2, "10 000", "NUM", "M")
    + "\n"
)


def conllu(directory, text):
    path = directory / "train.conllu"
    path.write_text(text, encoding="utf-8")
    return path


def labels_of(data: LabelledData):
    return [[data.labels[index] for index in example.target] for example in data.examples]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_conllu_words_are_those_with_a_whole_number(tmp_path, end):
    data = read_labelled(conllu(tmp_path, SPANISH.replace("\n", end)))
    assert data.task_type == "token_classification"
    assert [example.words for example in data.examples] == [("vamos", "nos", "a", "el", "mar"), ("_", "10 000")]
    assert labels_of(data) == [["VERB", "PRON", "ADP", "DET", "NOUN"], ["PUNCT", "NUM"]]
    assert data.lines == (4, 15)


@pytest.mark.parametrize(
    ("label", "expected"),
    [("xpos", [["V", "P", "S", "D", "NN"], ["Z", "M"]]), ("deprel", [["root"] * 5, ["root"] * 2])],
)
def test_conllu_label_may_be_another_column(tmp_path, label, expected):
    assert labels_of(read_labelled(conllu(tmp_path, SPANISH), Columns(label=label))) == expected


def test_conllu_label_is_upos_by_default(tmp_path):
    path = conllu(tmp_path, SPANISH)
    assert labels_of(read_labelled(path)) == labels_of(read_labelled(path, Columns(label="upos")))


def test_conllu_has_no_columns_for_what_is_not_annotated(tmp_path):
    table = read_table(conllu(tmp_path, word(1, "a", "_", "_").replace("root", "_") + word(2, "b", "_", "_")))
    assert table.columns == ("text", "deprel")
    assert table.rows[0].values == {"text": ["a", "b"], "deprel": ["", "root"]}


def test_conllu_last_sentence_needs_no_blank_line_after_it(tmp_path):
    assert [line for line, _ in iter_sentences(conllu(tmp_path, word(1, "a") + "\n" + word(1, "b")))] == [1, 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (word(1, "a") + "2 b _ NOUN\n", r"train\.conllu:2: 1 columns, expected the 10 of CoNLL-U with tabs between"),
        (word(1, "a") + "2\tb\tNOUN\n", r"train\.conllu:2: 3 columns, expected the 10 of CoNLL-U"),
        (word("one", "a"), r"train\.conllu:1: field 'ID': 'one', expected a number, a range \(1-2\)"),
        ("# text = a\n" + word(1, " "), r"train\.conllu:2: field 'FORM': the word is empty; fill it"),
        ("# text = a\n\n1-2\ta\n", r"train\.conllu: no sentences; write a word a line, in the 10 columns"),
        (
            word(1, "a") + "\n" + word(1, "b") + word(2, "c", "_"),
            r"train\.conllu:3: field 'label': expected a list of non-empty texts, but that of word 2 is ''",
        ),
        (word(1, "a", "_"), r"train\.conllu: no column 'label'; it has 'text', 'xpos', 'deprel'"),
    ],
)
def test_conllu_errors_name_file_and_line(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read_labelled(conllu(tmp_path, text))


@pytest.mark.parametrize(("column", "position"), [(None, 3), ("label", 3), ("tags", 3), ("upos", 3), ("xpos", 4)])
def test_with_label_writes_the_column_of_the_labels(column, position):
    line, expected = word(1, "a").rstrip("\n"), word(1, "a").rstrip("\n").split("\t")
    expected[position] = "X"
    assert with_label(line, "X", column=column) == "\t".join(expected)


@pytest.mark.parametrize("line", ["", "# text = a", "1-2\tab" + "\t_" * 8, "1.1\tab" + "\t_" * 8])
def test_with_label_is_none_for_lines_without_a_word(line):
    assert with_label(line, "X", column=None) is None
