"""The server with exported models, without torch."""

import subprocess
import sys

import numpy as np
import pytest

from litebert.errors import CheckpointError
from litebert.inference.predictor import Predictor
from litebert.serving.loaded_model import find_directory
from litebert.serving.serve_settings import ServeSettings
from support.models.tolerances import close_to
from support.programs.serving import Application

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def exported(saved, tmp_path_factory):
    """Export directories of a classifier and a masked language model."""
    from litebert.commands.export import ExportRun, export

    root = tmp_path_factory.mktemp("exported")
    for name in ("classifier", "masked"):
        export(ExportRun(model=str(saved[name]), out=root / name))
    return root


def test_served_answers_of_exported_models_equal_those_of_predictor(exported, saved):
    with Application(exported / "classifier", exported / "masked", runtime="onnx", threads=1) as application:
        texts = ["the film was good", "music", "a long movie"]
        responses = application.ask_together(
            [
                *(("/predict", {"inputs": text}) for text in texts),
                ("/fill-mask", {"inputs": "the [MASK] was good"}),
                ("/embed", {"inputs": texts, "model": "masked"}),
            ]
        )
    *scores, filled, vectors = [response.json() for response in responses]
    for served, offline in zip(scores, Predictor.load(saved["classifier"]).classify(texts), strict=True):
        assert {each["label"]: each["score"] for each in served} == close_to(offline.probabilities)
    masked = Predictor.load(saved["masked"])
    offline = masked.fill_mask("the [MASK] was good")[0]
    assert [each["probability"] for each in filled[0][0]] == close_to([each.probability for each in offline])
    assert np.array(vectors) == close_to(masked.embed(texts))


def test_directory_of_the_other_runtime_is_refused_with_the_option_to_use(exported, saved):
    for directory, runtime, advice in (
        (exported / "classifier", "torch", "a directory of `litebert export`; serve it with --runtime onnx"),
        (saved["classifier"], "onnx", "serve a model or run directory without --runtime onnx"),
    ):
        with pytest.raises(CheckpointError, match=advice):
            find_directory(str(directory), ServeSettings(models=("a",), runtime=runtime))


def test_server_of_exported_models_imports_no_torch(exported):
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "import litebert.cli.serve, litebert.commands.serve\n"
        "from litebert.serving.app import create_app\n"
        "from litebert.serving.serve_settings import ServeSettings\n"
        f"create_app(ServeSettings(models=({str(exported / 'classifier')!r},), runtime='onnx'))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_export_of_one_precision_is_served_as_it_is(saved, tmp_path):
    from litebert.commands.export import ExportRun, export
    from litebert.runtime import Predictor as OnnxPredictor

    directory = tmp_path / "small"
    export(ExportRun(model=str(saved["classifier"]), out=directory, precision=("int8",)))
    with Application(directory, runtime="onnx", threads=1) as application:
        assert application.ask("/predict", {"inputs": "the film was good"}).status_code == 200
        assert application.request("GET", "/info").json()["model_dtype"] == "int8"
    with pytest.raises(CheckpointError, match=r"has no onnx/model\.onnx; choose int8, which it has"):
        OnnxPredictor.load(directory, precision="fp32")
