"""`litebert export` on the command line: what it prints, and wrong input as one sentence with its exit code."""

import json

import pytest

from litebert.cli.main import main
from litebert.export.browser_page import RUNTIME_FILES
from litebert.runtime import Predictor
from support.models.saved_models import save_models

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
        (USAGE, ["{masked}", "{masked}"], "lies there and would be deleted"),
        (CHECKPOINT, ["{classifier}", "{new}/out", "--as-model", "ForMaskedLM"], "as ForMaskedLM: lacks"),
        (USAGE, ["{masked}", "{new}/out", "--precision", "int4"], "int4"),
        (USAGE, ["{masked}"], "neither OUT nor --page"),
        (USAGE, ["{masked}", "{new}/out", "--page", "{new}/page"], "both OUT and --page"),
        (
            USAGE,
            ["{masked}", "--page", "{new}/page", "--node-modules", "{new}/none"],
            "run `npm install onnxruntime-web",
        ),
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
    assert list(tmp_path.iterdir()) == []


def test_page_lists_every_model_that_was_exported_to_it(saved, tmp_path):
    modules, page = tmp_path / "node_modules", tmp_path / "page"
    for name in RUNTIME_FILES:
        (modules / name).parent.mkdir(parents=True, exist_ok=True)
        (modules / name).write_text(name)
    for name, precision in (("masked", "fp32"), ("classifier", "fp32"), ("masked", "int8")):
        command = ["export", str(saved[name]), "--page", str(page), "--node-modules", str(modules)]
        assert main([*command, "--precision", precision]) == 0
    listed = json.loads((page / "models" / "models.json").read_text())
    assert [(each["name"], each["task"], each["graph"]) for each in listed] == [
        ("classifier", "classification", "onnx/model.onnx"),
        ("masked", "fill_mask", "onnx/model_quantized.onnx"),
    ]
    assert listed[0]["labels"] == ["bad", "fair", "good"]
    assert "./browser.js" in (page / "index.html").read_text()
    assert {path.name for path in (page / "runtime").iterdir()} == {name.split("/")[-1] for name in RUNTIME_FILES}
