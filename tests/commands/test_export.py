"""`litebert export` on the command line: what it prints, and wrong input as one sentence with its exit code."""

import json

import pytest

from litebert.cli.main import main
from litebert.runtime import Predictor
from support.saved_models import save_models

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

CHECKPOINT, USAGE = 4, 2


@pytest.fixture(scope="module")
def saved(tiny_tokenizer, small_config, tmp_path_factory):
    return save_models(tmp_path_factory.mktemp("models"), tiny_tokenizer, small_config)


def test_export_prints_files_sizes_and_differences(saved, tmp_path, capsys):
    assert main(["export", str(saved["masked"]), str(tmp_path / "out"), "--precision", "fp32", "int8"]) == 0
    exact, small = capsys.readouterr().out.splitlines()
    assert exact.startswith(f"{tmp_path}/out/onnx/model.onnx: ")
    assert "outputs differ from torch's by at most" in small
    assert Predictor.load(tmp_path / "out").task == "fill_mask"


def test_export_prints_json(saved, tmp_path, capsys):
    command = ["export", str(saved["classifier"]), str(tmp_path / "out"), "--as-model", "SentenceEmbedder", "--json"]
    assert main(command) == 0
    (graph,) = json.loads(capsys.readouterr().out)["graphs"]
    assert graph["precision"] == "fp32"
    assert Predictor.load(tmp_path / "out").task == "embedding"


@pytest.mark.parametrize(
    ("code", "words", "message"),
    [
        (CHECKPOINT, ["{new}/absent", "{new}/out"], "absent: no such directory"),
        (CHECKPOINT, ["{masked}", "{masked}"], "holds other files"),
        (CHECKPOINT, ["{classifier}", "{new}/out", "--as-model", "ForMaskedLM"], "as ForMaskedLM: lacks"),
        (USAGE, ["{masked}", "{new}/out", "--precision", "int4"], "int4"),
        (USAGE, ["{masked}"], "OUT"),
    ],
)
def test_wrong_exports_are_refused(saved, tmp_path, capsys, code, words, message):
    places = {"new": tmp_path, **saved}
    try:
        status = main(["export", *(word.format(**places) for word in words)])
    except SystemExit as stopped:
        status = stopped.code
    output = capsys.readouterr()
    assert status == code
    assert message in output.err + output.out
    assert "Traceback" not in output.err
    assert not (tmp_path / "out").exists()
