"""Predictions for the rows of a file."""

import csv
import json
import logging
import shutil
import types
from dataclasses import asdict

import pytest

from litebert.commands.predict.predict import predict
from litebert.commands.predict.predict_settings import PredictRun
from litebert.commands.row_files import input_file
from litebert.errors import ConfigError, DataError
from litebert.inference.fill_mask import FillMask
from litebert.inference.predictor import Predictor
from litebert.model.io.model_directory import save_model
from litebert.model.models import (
    ForMaskedLM,
    ForMultipleChoice,
    ForSequenceClassification,
    ForTokenClassification,
    SentenceEmbedder,
)
from litebert.tasks.labelled_data import Example
from litebert.tasks.readers.tables import read_table
from support.models.tolerances import close_to, tolerance

EMPTY = "texts are empty or have no tokens; their results are those of the special tokens alone"
TEXTS = ["the film was good, really", 'say "bad"', "the music was awful " * 3, "a"]


@pytest.fixture(scope="module")
def models(tiny_tokenizer, small_config, tmp_path_factory):
    """The directory of a model for each way to answer."""
    root = tmp_path_factory.mktemp("models")

    def save(name, model, *, more_files=types.MappingProxyType({}), **options):
        return save_model(model, root / name, extra_files={**tiny_tokenizer.files(), **more_files}, **options)

    return {
        "masked": save("masked", ForMaskedLM(small_config)),
        "classifier": save("classifier", ForSequenceClassification(small_config, num_labels=2), labels=("bad", "good")),
        "several": save(
            "several",
            ForSequenceClassification(small_config, num_labels=2),
            labels=("long", "loud"),
            problem_type="multi_label_classification",
        ),
        "resolver": save(
            "resolver",
            ForMaskedLM(small_config),
            more_files={"task.json": b'{"task_type": "pronoun_resolution", "text": "text", "text_pair": "text_pair"}'},
        ),
        "chooser": save("chooser", ForMultipleChoice(small_config)),
        "tagger": save("tagger", ForTokenClassification(small_config, num_labels=3), labels=("O", "B-X", "I-X")),
        "regressor": save(
            "regressor",
            ForSequenceClassification(small_config, num_labels=1),
            labels=("stars",),
            problem_type="regression",
        ),
    }


def write_table(path, rows):
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    return path


def predicted(model, source, output, **settings):
    predict(PredictRun(model=str(model), input=source, output=output, **settings))
    if output.suffix == ".jsonl":
        return [json.loads(line) for line in output.read_text().splitlines()]
    separator = {".csv": ",", ".tsv": "\t"}[output.suffix]
    with output.open(newline="") as file:
        quoting = csv.QUOTE_NONE if separator == "\t" else csv.QUOTE_MINIMAL
        return list(csv.DictReader(file, delimiter=separator, quoting=quoting))


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".tsv"])
@pytest.mark.parametrize("source", [".txt", ".csv", ".jsonl"])
def test_predict_writes_predictions_beside_their_rows_in_every_format(models, tmp_path, source, ending):
    path = tmp_path / f"in{source}"
    if source == ".txt":
        path.write_text("\n".join(TEXTS) + "\n")
    else:
        write_table(path, [{"id": n, "text": text} for n, text in enumerate(TEXTS)])
    rows = predicted(models["classifier"], path, tmp_path / f"out{ending}")
    expected = Predictor.load(models["classifier"]).classify(TEXTS)
    assert [row["text"] for row in rows] == TEXTS
    assert [row["prediction"] for row in rows] == [answer.label for answer in expected]
    assert [float(row["probability"]) for row in rows] == pytest.approx([answer.probability for answer in expected])
    assert ("probabilities" in rows[0]) == (ending == ".jsonl")


def test_predict_reads_pairs_from_two_columns(models, tmp_path):
    path = write_table(tmp_path / "in.csv", [{"a": "the film", "b": "was good"}])
    (row,) = predicted(models["classifier"], path, tmp_path / "out.jsonl", text="a", text_pair="b")
    (expected,) = Predictor.load(models["classifier"]).classify([("the film", "was good")])
    assert row["probability"] == pytest.approx(expected.probability)


def test_predictions_for_a_file_with_semicolons_have_semicolons_and_are_read_again(models, tmp_path, caplog):
    path, output = tmp_path / "in.csv", tmp_path / "out.csv"
    path.write_text('"id, as given";text\n1;the film, really\n2;good\n')
    with caplog.at_level(logging.INFO):
        predict(PredictRun(model=str(models["classifier"]), input=path, output=output))
    assert caplog.messages.count(f"{path}: semicolons separate the columns") == 1
    assert output.read_text().startswith('"id, as given";"text";"prediction";"probability"\n')
    table = read_table(output)
    assert table.columns == ("id, as given", "text", "prediction", "probability")
    assert (table.texts("id, as given"), table.texts("text")) == (["1", "2"], ["the film, really", "good"])


def test_predict_writes_regression_scores(models, tmp_path):
    path = write_table(tmp_path / "in.csv", [{"text": text} for text in TEXTS])
    rows = predicted(models["regressor"], path, tmp_path / "out.csv")
    expected = Predictor.load(models["regressor"]).regress(TEXTS)
    assert [float(row["prediction"]) for row in rows] == pytest.approx(expected)


def test_predict_writes_multi_label_predictions_joined_and_as_a_list(models, tmp_path):
    path = write_table(tmp_path / "in.csv", [{"text": text} for text in TEXTS])
    rows = predicted(models["several"], path, tmp_path / "out.jsonl")
    expected = [answer.labels for answer in Predictor.load(models["several"]).classify_multi_label(TEXTS)]
    assert [tuple(row["labels"]) for row in rows] == expected
    assert [row["prediction"] for row in rows] == ["|".join(labels) for labels in expected]


def test_predict_reads_a_named_column_instead_of_that_of_training(models, tmp_path):
    model = shutil.copytree(models["regressor"], tmp_path / "model")
    (model / "task.json").write_text('{"task_type": "regression", "text": "review", "label": "label"}')
    path = write_table(tmp_path / "in.csv", [{"review": "music", "text": "the film"}])
    review, text = Predictor.load(models["regressor"]).regress(["music", "the film"])
    for named, expected in [({}, review), ({"text": "review"}, review), ({"text": "text"}, text)]:
        (row,) = predicted(model, path, tmp_path / "out.jsonl", **named)
        assert row["prediction"] == close_to(expected)
    assert review != close_to(text)


@pytest.mark.parametrize("options", [(), ("x", "y")])
def test_predict_writes_multiple_choice_letters(models, tmp_path, options):
    names = options or ("option1", "option2")
    path = write_table(tmp_path / "in.csv", [{"text": "a", "q": "the film was _", names[0]: "good", names[1]: "bad"}])
    (row,) = predicted(models["chooser"], path, tmp_path / "out.jsonl", text_pair="q", options=options)
    (expected,) = Predictor.load(models["chooser"]).multiple_choice([("a", "the film was _", ["good", "bad"])])
    assert (row["prediction"], row["probability"]) == (expected.letter, pytest.approx(expected.probability))


@pytest.mark.parametrize("text", ["the film, (really)!", ["the", "film"]], ids=["text", "list"])
def test_predict_writes_token_labels_and_entities(models, tmp_path, text):
    path = write_table(tmp_path / "in.jsonl", [{"text": text}])
    (row,) = predicted(models["tagger"], path, tmp_path / "out.jsonl", precision="fp32")
    (expected,) = Predictor.load(models["tagger"], precision="fp32").classify_tokens([text])
    assert row == json.loads(json.dumps({"text": text, **expected.to_record()}))
    assert (tuple(row["labels"]), row["prediction"]) == (expected.labels, " ".join(expected.labels))
    for entity, found in zip(row["entities"], expected.entities, strict=True):
        assert entity == {**asdict(found), "text": found.text}


def test_predict_writes_entities_into_a_cell(models, tmp_path):
    text = "the film, (really)!"
    path = write_table(tmp_path / "in.csv", [{"text": text}, {"text": " "}])
    row, empty = predicted(models["tagger"], path, tmp_path / "out.csv")
    (expected,) = Predictor.load(models["tagger"]).classify_tokens([text])
    assert row == {"text": text, **{name: expected.to_table_row()[name] for name in ("prediction", "entities")}}
    assert empty == {"text": " ", "prediction": "", "entities": ""}


def test_predict_writes_mask_candidates(models, tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("the [MASK] was [MASK]\n[MASK]\n")
    first, second = predicted(models["masked"], path, tmp_path / "out.jsonl", top_k=3)
    assert [len(fillings) for fillings in first["masks"]] == [3, 3]
    assert first["probability"] == pytest.approx(
        max(first["masks"][0].values()) * max(first["masks"][1].values()), rel=tolerance()
    )
    assert next(iter(second["masks"][0])).replace("▁", "") == second["prediction"]


def test_predict_fills_the_masks_of_a_window_in_one_call(models, tmp_path, monkeypatch):
    texts = ["the [MASK]", "a film was [MASK] and [MASK]", "[MASK]"]
    predictor = Predictor.load(models["masked"], precision="fp32")
    expected = [predictor.fill_mask(text, top_k=1)[0][0].word for text in texts]
    calls, results = [], FillMask.results
    monkeypatch.setattr(
        FillMask, "results", lambda self, texts, **options: calls.append(texts) or results(self, texts, **options)
    )
    source = write_table(tmp_path / "in.csv", [{"text": text} for text in texts])
    rows = predicted(models["masked"], source, tmp_path / "out.csv", precision="fp32")
    assert calls == [texts]
    assert [row["prediction"].split()[0] for row in rows] == expected


def test_predict_keeps_an_older_output_on_an_error(models, tmp_path):
    output = tmp_path / "out.jsonl"
    output.write_text("old")
    (tmp_path / "bad.txt").write_text("[MASK]\nno mask\n")
    with pytest.raises(DataError, match=r"bad\.txt:2: 'no mask': has no \[MASK\].* fine-tune it first"):
        predict(PredictRun(model=str(models["masked"]), input=tmp_path / "bad.txt", output=output))
    assert output.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


def test_predict_writes_null_and_missing_fields_as_empty(models, tmp_path):
    path = write_table(tmp_path / "in.jsonl", [{"text": "a", "note": None, "tags": [1]}, {"text": "b"}])
    rows = predicted(models["regressor"], path, tmp_path / "out.csv")
    assert [row["note"] for row in rows] == ["", ""]
    assert "tags" not in rows[0]


@pytest.mark.parametrize(
    ("model", "content", "output", "settings", "error", "message"),
    [
        ("classifier", "text\na\n", "out.xlsx", {}, ConfigError, "has none of the endings .jsonl, .csv, .tsv"),
        ("classifier", "text\na\n", "in.csv", {}, ConfigError, "is the input; choose another file"),
        (
            "masked",
            "text\n[MASK]\n",
            "out.csv",
            {"text_pair": "b"},
            ConfigError,
            "text_pair: not used for fill_mask",
        ),
        (
            "tagger",
            "text\na\n",
            "out.csv",
            {"text_pair": "b"},
            ConfigError,
            "text_pair: not used for token_classification",
        ),
        (
            "classifier",
            "text\na\n",
            "out.csv",
            {"options": ("a", "b")},
            ConfigError,
            "options: not used for classification and .csv files; leave them out",
        ),
        ("classifier", "text\na\n", "out.csv", {"top_k": 5}, ConfigError, "top_k: not used for classification; "),
        ("classifier", "sentence\na\n", "out.csv", {}, DataError, "no column 'text'; it has 'sentence'"),
        ("masked", "[MASK]\n", "out.csv", {"top_k": 2}, ConfigError, "top_k: .* holds the best candidate only"),
        (
            "classifier",
            "text,prediction\na,b\n",
            "out.csv",
            {},
            DataError,
            r"in\.csv:2: column 'prediction' is where the prediction is written",
        ),
        ("chooser", "text\na\n", "out.csv", {}, DataError, "no columns with options, such as option1"),
        ("classifier", 'text\n"a\tb"\n', "out.tsv", {}, DataError, r"in\.csv:2: .* a tab or a line break"),
    ],
)
def test_predict_rejects_invalid_settings_and_writes_nothing(
    models, tmp_path, model, content, output, settings, error, message
):
    source = tmp_path / "in.csv"
    source.write_text(content)
    with pytest.raises(error, match=message):
        predict(PredictRun(model=str(models[model]), input=source, output=tmp_path / output, **settings))
    assert [file.name for file in tmp_path.iterdir()] == ["in.csv"]


@pytest.mark.parametrize(("model", "name"), [("classifier", "text"), ("resolver", "text_pair"), ("masked", "text")])
def test_predict_refuses_columns_of_a_file_of_texts(models, tmp_path, model, name):
    (tmp_path / "in.txt").write_text("the [MASK]\n")
    run = PredictRun(model=str(models[model]), input=tmp_path / "in.txt", output=tmp_path / "o.csv", **{name: "review"})
    with pytest.raises(ConfigError, match=rf"^{name}: not used for \w+ and \.txt files; leave them out"):
        predict(run)


@pytest.mark.parametrize(("name", "message"), [("absent.csv", "no such file"), (".", "is a directory")])
def test_predict_names_an_input_that_is_no_file(models, tmp_path, name, message):
    with pytest.raises(DataError, match=message):
        predict(PredictRun(model=str(models["classifier"]), input=tmp_path / name, output=tmp_path / "out.csv"))


def test_predict_rejects_a_model_without_a_head_for_predictions(tiny_tokenizer, small_config, tmp_path):
    model = save_model(SentenceEmbedder(small_config), tmp_path / "m", extra_files=tiny_tokenizer.files())
    (tmp_path / "in.txt").write_text("the film\n")
    run = PredictRun(model=str(model), input=tmp_path / "in.txt", output=tmp_path / "out.csv")
    with pytest.raises(ConfigError, match="has no head for predictions; `litebert embed` writes its embeddings"):
        predict(run)


@pytest.mark.parametrize("pattern", ["in.txt", "i?.txt"])
def test_predict_asks_for_the_device_that_is_named(models, tmp_path, monkeypatch, pattern):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    (tmp_path / "in.txt").write_text("the film\n")
    run = PredictRun(
        model=str(models["classifier"]), input=tmp_path / pattern, output=tmp_path / "out.csv", device="cuda"
    )
    if "?" in pattern:
        run = run.replace(output=tmp_path / "out", precision="fp32")
    with pytest.raises(ConfigError, match="device: 'cuda' was asked for, but torch finds 0 CUDA devices"):
        predict(run)


def test_predict_result_has_output_task_and_count(models, tmp_path):
    (tmp_path / "in.txt").write_text("a\nb\n")
    run = PredictRun(model=str(models["classifier"]), input=tmp_path / "in.txt", output=tmp_path / "out.csv", threads=1)
    result = predict(run)
    expected = {
        "output": str(tmp_path / "out.csv"),
        "task": "classification",
        "predictions": 2,
        "counts": {},
        "threshold": None,
        "accuracy": None,
    }
    assert result.to_dict() == expected
    assert result.to_text().endswith("out.csv: 2 predictions written (classification)")


@pytest.mark.parametrize(("name", "text"), [("in.conll", "the\nfilm\n"), ("in.json", '{"data": []}')])
def test_predict_with_a_pretrained_model_says_what_it_can_do(models, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    output = tmp_path / ("out.jsonl" if name == "in.conll" else "out")
    with pytest.raises(ConfigError, match=r"fills masks, and `litebert embed` .* fine-tune it first"):
        predict(PredictRun(model=str(models["masked"]), input=tmp_path / name, output=output))
    assert not output.exists()


@pytest.mark.parametrize("model", ["classifier", "several", "regressor"])
@pytest.mark.parametrize("name", ["in.csv", "in.txt"])
def test_predict_of_an_empty_text_is_that_of_the_special_tokens(models, tmp_path, caplog, monkeypatch, name, model):
    monkeypatch.setattr(input_file, "ROWS_PER_WINDOW", 2)
    path, run = tmp_path / name, {"precision": "fp32", "output": tmp_path / "out.jsonl"}
    path.write_text("a film\n \nmusic\n\u200b\nfilm\n" if name == "in.txt" else 'text\na film\n" "\nmusic\n""\nfilm\n')
    result = predict(PredictRun(model=str(models[model]), input=path, **run))
    assert result.counts == {"empty": 2}
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert warnings == [f"{path}: 2 of 5 {EMPTY}"]
    rows = [json.loads(line)["prediction"] for line in run["output"].read_text().splitlines()]
    expected = Predictor.load(models[model], precision="fp32").predict([Example(text=text) for text in ("music", "")])
    assert [rows[2], rows[1]] == [
        close_to(each.value) if model == "regressor" else each.to_record()["prediction"] for each in expected
    ]


@pytest.mark.parametrize(
    ("model", "text", "message"),
    [
        ("tagger", [], "field 'text': has no words; remove the row"),
        ("masked", "no mask", r"'no mask': has no \[MASK\]"),
        ("masked", "[MASK] " * 600, "tokens, the model reads"),
    ],
)
def test_predict_finds_an_invalid_row_before_the_first_prediction(models, tmp_path, monkeypatch, model, text, message):
    monkeypatch.setattr(input_file, "ROWS_PER_WINDOW", 2)
    monkeypatch.setattr(input_file, "write_predictions", lambda *arguments, **options: pytest.fail("predicted"))
    path = write_table(tmp_path / "in.jsonl", [{"text": each} for each in ("a [MASK]", *["[MASK]"] * 3, text)])
    with pytest.raises(DataError, match=rf"in\.jsonl:5: .*{message}"):
        predict(PredictRun(model=str(models[model]), input=path, output=tmp_path / "out.jsonl"))


@pytest.mark.parametrize(
    ("model", "last", "output", "message"),
    [
        ("classifier", {"text": "a\tb"}, "out.tsv", r"column 'text' contains a tab .* write \.csv or \.jsonl"),
        ("classifier", {"text": "a", "note": "b\nc"}, "out.tsv", "column 'note' contains a tab or a line break"),
        ("classifier", {"text": "a", "prediction": 1}, "out.jsonl", "column 'prediction' is where the prediction"),
        ("classifier", {"text": "a", "probability": 1}, "out.csv", "column 'probability' is where the prediction"),
        ("classifier", {"text": "a", "probabilities": 1}, "out.jsonl", "column 'probabilities' is where the"),
        ("masked", {"text": "[MASK]", "masks": 1}, "out.jsonl", "column 'masks' is where the prediction"),
        ("resolver", {"text": "It is good.", "text_pair": "\u200b"}, "out.jsonl", "a text of the row has no tokens"),
    ],
)
def test_predict_finds_a_late_row_that_cannot_be_written_before_the_predictions(
    models, tmp_path, monkeypatch, model, last, output, message
):
    monkeypatch.setattr(input_file, "ROWS_PER_WINDOW", 2)
    monkeypatch.setattr(input_file, "write_predictions", lambda *arguments, **options: pytest.fail("predicted"))
    first = {"masked": {"text": "[MASK]"}, "resolver": {"text": "It is good.", "text_pair": "The film is good."}}
    path = write_table(tmp_path / "in.jsonl", [*[{"note": "", **first.get(model, {"text": "a"})}] * 4, last])
    with pytest.raises(DataError, match=rf"in\.jsonl:5: .*{message}"):
        predict(PredictRun(model=str(models[model]), input=path, output=tmp_path / output))
    assert [file.name for file in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_predict_keeps_a_column_that_only_json_lines_would_write(models, tmp_path, ending):
    path = write_table(tmp_path / "in.jsonl", [{"text": "a", "probabilities": "kept"}, {"text": "b"}])
    output = tmp_path / f"out.{ending}"
    predict(PredictRun(model=str(models["classifier"]), input=path, output=output))
    delimiter = "," if ending == "csv" else "\t"
    header, first, _ = [line.split(delimiter) for line in output.read_text().splitlines()]
    assert header == ["text", "probabilities", "prediction", "probability"]
    assert first[:2] == ["a", "kept"]


def test_predict_leaves_no_file_when_the_first_prediction_fails(models, tmp_path, monkeypatch):
    monkeypatch.setattr("litebert.inference.inference_model.can_prepack", lambda *_: False)
    path = write_table(tmp_path / "in.csv", [{"text": "a"}])
    with pytest.raises(ConfigError, match="int8 needs a model of litebert on a CPU"):
        predict(PredictRun(model=str(models["classifier"]), input=path, output=tmp_path / "out.csv", precision="int8"))
    assert [file.name for file in tmp_path.iterdir()] == ["in.csv"]


def test_predict_refuses_a_name_that_tsv_cannot_hold_before_the_predictions(models, tmp_path, monkeypatch):
    monkeypatch.setattr(input_file, "write_predictions", lambda *arguments, **options: pytest.fail("predicted"))
    path = write_table(tmp_path / "in.jsonl", [{"text": "a", "no\tte": ""}])
    with pytest.raises(DataError, match=r"in\.jsonl:1: column 'no\\tte' contains a tab or a line break"):
        predict(PredictRun(model=str(models["classifier"]), input=path, output=tmp_path / "out.tsv"))
