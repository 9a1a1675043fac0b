"""Predictions for CoNLL columns."""

import csv
import json
import shutil

import pytest

from litebert.commands.predict.predict import predict
from litebert.commands.predict.predict_settings import PredictRun
from litebert.errors import ConfigError, DataError
from litebert.inference.predictor import Predictor
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForSequenceClassification, ForTokenClassification
from litebert.tasks.read_labelled import read_labelled
from litebert.tasks.readers.columns import Columns, SavedTask
from litebert.tasks.types.task_type import ReadOptions
from litebert.tasks.types.token_classification.conll import read_conll

SENTENCES = [["EU", "rejects", "German", "lamb"], ["Peter"]]
FILES = {
    "words": "EU\nrejects\nGerman\nlamb\n\nPeter\n",
    "blanks": "-DOCSTART- O\n\nEU B-ORG\nrejects O\nGerman B-MISC\nlamb O\n\n\nPeter B-PER\n",
    "tabs": "EU\tNNP\tO\nrejects\tVBZ\tO\nGerman\tJJ\tO\nlamb\tNN\tO\n\nPeter\tNNP\tO",
    "carriage returns": "EU x\r\nrejects x\r\nGerman x\r\nlamb x\r\n\r\nPeter x\r\n",
}


@pytest.fixture(scope="module")
def tagger(tiny_tokenizer, small_config, tmp_path_factory):
    model = ForTokenClassification(small_config, num_labels=3)
    place = tmp_path_factory.mktemp("models") / "tagger"
    return save_model(model, place, labels=("O", "B-X", "I-X"), extra_files=tiny_tokenizer.files())


def predict_words(model, source, output, **options):
    return predict(PredictRun(model=str(model), input=source, output=output, **options))


@pytest.fixture
def expected(tagger):
    return Predictor.load(tagger).classify_tokens(SENTENCES)


@pytest.mark.parametrize("name", FILES)
def test_predict_conll_adds_the_label_as_a_column(tagger, expected, tmp_path, name):
    source, output = tmp_path / "in.conll", tmp_path / "out.bio"
    source.write_bytes(FILES[name].encode())
    result = predict_words(tagger, source, output)
    before, after = FILES[name].splitlines(), output.read_text().splitlines()
    tags = iter(tag for answer in expected for tag in answer.labels)
    for old, new in zip(before, after, strict=True):
        is_word = old and not old.startswith("-DOCSTART-")
        assert new.split() == [*old.split(), *([next(tags)] if is_word else [])]
        assert new.startswith(old)
    entities = sum(len(answer.entities) for answer in expected)
    assert (result.predictions, result.counts) == (2, {"words": 5, "entities": entities})
    assert result.to_text().startswith(f"{output}: 2 predictions written (token_classification, 5 words, ")


@pytest.mark.parametrize("name", FILES)
def test_predict_conll_output_is_read_as_labelled_words(tagger, expected, tmp_path, name):
    source, output = tmp_path / "in.conll", tmp_path / "out.conll"
    source.write_bytes(FILES[name].encode())
    predict_words(tagger, source, output)
    data = read_conll(output, ReadOptions(labels=("O", "B-X", "I-X")))
    assert [list(example.words) for example in data.examples] == SENTENCES
    assert [tuple(data.labels[tag] for tag in example.target) for example in data.examples] == [
        answer.labels for answer in expected
    ]


@pytest.mark.parametrize(("ending", "separator"), [(".tsv", "\t"), (".csv", ",")])
def test_predict_conll_to_a_table_has_one_word_a_row(tagger, expected, tmp_path, ending, separator):
    (tmp_path / "in.conll").write_text(FILES["blanks"])
    predict_words(tagger, tmp_path / "in.conll", tmp_path / f"out{ending}")
    with (tmp_path / f"out{ending}").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter=separator))
    assert [row["word"] for row in rows] == [word for words in SENTENCES for word in words]
    assert [row["prediction"] for row in rows] == [tag for answer in expected for tag in answer.labels]
    assert [row["probability"] for row in rows] == [str(each) for answer in expected for each in answer.probabilities]
    assert [row["sentence"] for row in rows] == ["1", "1", "1", "1", "2"]


def test_predict_conll_to_json_lines_has_one_sentence_a_row(tagger, expected, tmp_path):
    (tmp_path / "in.iob").write_text(FILES["tabs"])
    predict_words(tagger, tmp_path / "in.iob", tmp_path / "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["text"] for row in rows] == SENTENCES
    assert [row["labels"] for row in rows] == [list(answer.labels) for answer in expected]
    assert [row["prediction"] for row in rows] == [" ".join(answer.labels) for answer in expected]


def test_predict_conll_to_json_lines_is_read_as_labelled_words_again(tagger, expected, tmp_path):
    (tmp_path / "labelled.conll").write_text(FILES["blanks"])
    (tmp_path / "words.conll").write_text(FILES["words"])
    given = [["B-ORG", "O", "B-MISC", "O"], ["B-PER"]]
    predicted = [list(answer.labels) for answer in expected]
    for name, labels in (("labelled", given), ("words", predicted)):
        predict_words(tagger, tmp_path / f"{name}.conll", tmp_path / f"{name}.jsonl")
        data = read_labelled(tmp_path / f"{name}.jsonl")
        assert [list(example.words) for example in data.examples] == SENTENCES
        assert [[data.labels[tag] for tag in example.target] for example in data.examples] == labels


def test_predict_conll_to_csv_keeps_the_labels_of_the_input(tagger, tmp_path):
    (tmp_path / "in.conll").write_text(FILES["tabs"])
    predict_words(tagger, tmp_path / "in.conll", tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as file:
        assert [row["label"] for row in csv.DictReader(file)] == ["O"] * 5


@pytest.mark.parametrize(
    ("text", "output", "error", "message"),
    [
        ("a\n", "out.txt", ConfigError, r"output: 'out\.txt' has none of the endings \.conll, "),
        ("a\n", "in.conll", ConfigError, r"output: .*in\.conll is the input; choose another file"),
        ("-DOCSTART-\n", "out.conll", DataError, "no sentences; write lines of a word$"),
        ("a b\nc\n", "out.conll", DataError, r"in\.conll:2: 1 columns, expected 2; write one word a line"),
    ],
)
def test_predict_conll_rejects_invalid_files_and_writes_nothing(tagger, tmp_path, text, output, error, message):
    (tmp_path / "in.conll").write_text(text)
    with pytest.raises(error, match=message):
        predict_words(tagger, tmp_path / "in.conll", tmp_path / output)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"in.conll": text}


def test_predict_conll_rejects_a_text_classifier(tiny_tokenizer, small_config, tmp_path):
    model = ForSequenceClassification(small_config, num_labels=2)
    directory = save_model(model, tmp_path / "model", labels=("a", "b"), extra_files=tiny_tokenizer.files())
    (tmp_path / "in.conll").write_text("a\n")
    with pytest.raises(ConfigError, match="a model for classification cannot read \\.conll files"):
        predict_words(directory, tmp_path / "in.conll", tmp_path / "out.conll")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": "a"}, "^text: not used for"),
        ({"text": "a", "text_pair": "b"}, "^text, text_pair: not used for"),
        ({"top_k": 2}, "^top_k: not used for"),
    ],
)
def test_predict_rejects_column_names_for_conll(tagger, tmp_path, options, message):
    (tmp_path / "in.conll").write_text("a\n")
    with pytest.raises(ConfigError, match=message):
        predict_words(tagger, tmp_path / "in.conll", tmp_path / "out.conll", **options)


UD = (
    "# text = vámonos\n1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_\n1\tvamos\tir\tVERB\tV\t_\t0\troot\t_\tSpaceAfter=No\n"
    "2\tnos\tyo\tPRON\tP\tCase=Acc\t1\tobj\t_\t_\n2.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n\n\n# text = mar\n"
    "1\tmar\tmar\tNOUN\tNN\t_\t0\troot\t_\t_\n\n"
)


@pytest.mark.parametrize(("label", "position"), [("label", 3), ("xpos", 4)])
def test_predict_conllu_writes_the_labels_into_the_column_of_training(tagger, tmp_path, label, position):
    model = tmp_path / "model"
    shutil.copytree(tagger, model)
    for name, value in SavedTask(task_type="token_classification", text="text", label=label).files().items():
        (model / name).write_bytes(value)
    source, output = tmp_path / "in.conllu", tmp_path / "out.conllu"
    source.write_text(UD)
    predict_words(model, source, output)
    answers = Predictor.load(tagger).classify_tokens([["vamos", "nos"], ["mar"]])
    before, after = UD.splitlines(), output.read_text().splitlines()
    tags = iter(tag for answer in answers for tag in answer.labels)
    for old, new in zip(before, after, strict=True):
        fields = old.split("\t")
        if fields[0].isdigit():
            fields[position] = next(tags)
        assert new.split("\t") == fields
    data = read_labelled(output, Columns(label=label))
    assert [tuple(data.labels[tag] for tag in example.target) for example in data.examples] == [
        answer.labels for answer in answers
    ]


def test_predict_conllu_to_json_lines_is_read_as_labelled_words_again(tagger, tmp_path):
    (tmp_path / "in.conllu").write_text(UD)
    predict_words(tagger, tmp_path / "in.conllu", tmp_path / "out.jsonl")
    data = read_labelled(tmp_path / "out.jsonl")
    assert [example.words for example in data.examples] == [("vamos", "nos"), ("mar",)]
    assert data.labels == ("NOUN", "PRON", "VERB")


def test_predict_conllu_refuses_a_table_without_lists(tagger, tmp_path):
    (tmp_path / "in.conllu").write_text(UD)
    with pytest.raises(ConfigError, match=r"output: 'out\.csv' has none of the endings \.conllu, \.jsonl"):
        predict_words(tagger, tmp_path / "in.conllu", tmp_path / "out.csv")
