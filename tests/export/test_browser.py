"""Exported models in a headless browser, through transformers.js and the WebAssembly build of onnxruntime."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from litebert.export.export_model import export_model
from litebert.runtime import Predictor
from support.models.saved_models import save_models
from support.models.tolerances import tolerance

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

HARNESS = Path(__file__).parents[1] / "support" / "browser"
MODULES = Path(os.environ.get("LITEBERT_NODE_MODULES", HARNESS / "node_modules"))
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NODE = shutil.which("node")
REASON = (
    "no node"
    if NODE is None
    else "no Chromium"
    if BROWSER is None
    else None
    if (MODULES / "@huggingface").is_dir()
    else f"no {MODULES}; run `npm install --ignore-scripts` in tests/support/browser"
)


@pytest.mark.skipif(REASON is not None, reason=str(REASON))
@pytest.mark.parametrize(("dtype", "precision"), [("fp32", "fp32"), ("q8", "int8")])
def test_browser_gives_the_answers_of_python(tiny_tokenizer, small_config, tmp_path, dtype, precision):
    saved = save_models(tmp_path / "models", tiny_tokenizer, small_config)
    for name in ("masked", "classifier"):
        export_model(saved[name], tmp_path / "exports" / name, precisions=(precision,))
    text, masked = "the old actor was wonderful, in 1999.", "the [MASK] was good."
    questions = [
        {"task": "fill-mask", "name": "masked", "dtype": dtype, "text": masked, "options": {"top_k": 3}},
        {"task": "text-classification", "name": "classifier", "dtype": dtype, "text": text, "options": {"top_k": 3}},
    ]
    command = [NODE, HARNESS / "drive.mjs", MODULES, BROWSER, tmp_path / "exports", json.dumps(questions)]
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    filled, labels = json.loads(done.stdout.splitlines()[-1])
    (candidates,) = Predictor.load(tmp_path / "exports" / "masked").fill_mask(masked, top_k=3)
    assert [each["token_str"].strip() for each in filled] == [each.word for each in candidates]
    assert [each["score"] for each in filled] == pytest.approx(
        [each.probability for each in candidates], abs=tolerance(depth="compound")
    )
    (answer,) = Predictor.load(tmp_path / "exports" / "classifier").classify([text])
    assert {each["label"]: each["score"] for each in labels} == pytest.approx(
        answer.probabilities, abs=tolerance(depth="compound")
    )
