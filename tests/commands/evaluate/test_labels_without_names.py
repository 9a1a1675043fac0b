"""Models whose labels have no names, LABEL_0 and LABEL_1, as transformers saves them by default."""

import json

import pytest

from litebert.cli.main import main
from litebert.model.io.model_directory import save_model
from litebert.model.models import ForSequenceClassification
from support.data.benchmark_files import write_cola, write_mnli
from support.data.labelled_files import write_opinions


@pytest.fixture
def save(tiny_tokenizer, small_config, tmp_path):
    def save(name, labels):
        model = ForSequenceClassification(small_config, num_labels=len(labels), seed=3)
        return save_model(model, tmp_path / name, extra_files=tiny_tokenizer.files(), labels=labels)

    return save


def scores(capsys, *arguments):
    assert main([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_numbers_are_labels_without_names(save, tmp_path, capsys):
    """Of GLUE, of a labelled file, and of a comparison; each with the scores of the same model with names."""
    named, unnamed = save("named", ("0", "1")), save("unnamed", ("LABEL_0", "LABEL_1"))
    glue, file = write_cola(tmp_path), write_opinions(tmp_path / "dev.csv", labels=(0, 1))
    for examples in (("--task", "cola", "--task-dir", glue), ("--data", file)):
        first, second = (scores(capsys, "evaluate", model, *examples) for model in (named, unnamed))
        assert json.dumps(first).replace('"0"', '"LABEL_0"').replace('"1"', '"LABEL_1"') == json.dumps(second)
    for first, second in ((unnamed, save("another", ("LABEL_0", "LABEL_1"))), (unnamed, named), (named, unnamed)):
        for examples, metric in ((("--task", "cola", "--task-dir", glue), "matthews"), (("--data", file), "accuracy")):
            found = scores(capsys, "compare", first, "--baseline", second, *examples)
            assert found["metrics"][metric]["difference"]["difference"] == 0


def test_labels_of_mnli_have_to_be_named(save, tmp_path, capsys):
    """Their order differs between models, so a number says nothing."""
    model = save("model", ("LABEL_0", "LABEL_1", "LABEL_2"))
    assert main(["evaluate", str(model), "--task", "mnli", "--task-dir", str(write_mnli(tmp_path))]) == 2
    message = capsys.readouterr().err
    assert "its labels have no names (LABEL_0, LABEL_1, LABEL_2), those of MNLI are" in message
    assert "name them in its config.json, id2label and label2id" in message


def test_names_in_a_file_are_unknown_to_a_model_without_names(save, tmp_path, capsys):
    model = save("model", ("LABEL_0", "LABEL_1"))
    assert main(["evaluate", str(model), "--data", str(write_opinions(tmp_path / "dev.csv"))]) == 3
    assert "the labels of training are 'LABEL_0', 'LABEL_1'\n" in capsys.readouterr().err
