"""The runtime needs numpy, onnxruntime and sentencepiece only."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

PROGRAM = """
import json, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ImportError(name)

ABSENT = {
    *("torch", "pydantic", "yaml", "safetensors", "huggingface_hub", "tyro", "rich", "google_crc32c", "jaxtyping"),
    *("filelock", "transformers", "tokenizers", "onnx", "scipy", "sklearn", "pandas"),
}
sys.meta_path.insert(0, Refuse())
from litebert.runtime import Predictor
root = sys.argv[1]
answers = {
    "classifier": Predictor.load(f"{root}/classifier").classify(["the film was good"])[0].label,
    "reader": Predictor.load(f"{root}/reader").answer("Who?", "The old actor.").text,
    "tagger": Predictor.load(f"{root}/tagger").classify_tokens([["the", "film"]])[0].labels,
    "masked": Predictor.load(f"{root}/masked").fill_mask("a [MASK]")[0][0].piece,
}
print(json.dumps(answers))
"""


def test_runtime_predicts_where_torch_and_pydantic_are_absent(exported):
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(exported)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert answers["classifier"] in ("bad", "fair", "good")
    assert len(answers["tagger"]) == 2
