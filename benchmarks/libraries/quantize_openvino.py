"""Quantize an ONNX file to int8 for OpenVINO by NNCF, with 100 texts for calibration: an input of `inference.py`.

NNCF is not among the packages of this project; run this in an environment with `pip install nncf openvino`:
    python benchmarks/libraries/quantize_openvino.py FOLDER, where FOLDER is that of `inference.py --prepare`
"""

import json
import sys
from pathlib import Path

import nncf
import numpy as np
import openvino as ov

folder = Path(sys.argv[1])
texts = [np.array([ids], np.int64) for ids in json.loads((folder / "ids.json").read_text(encoding="utf-8"))[:100]]
data = nncf.Dataset(texts, lambda ids: {"input_ids": ids, "attention_mask": np.ones_like(ids)})
model = ov.Core().read_model(folder / "model.onnx")
ov.save_model(nncf.quantize(model, data, model_type=nncf.ModelType.TRANSFORMER), folder / "model-int8.xml")
