"""The example for Ray Serve, started and asked."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from litebert.inference.predictor import Predictor
from support.models.tolerances import close_to
from support.programs.processes import PYTHONPATH, free_port

EXAMPLES = Path(__file__).parents[2] / "examples" / "serving"
PROGRAM = """
import json, os, sys
import httpx, ray
from ray import serve
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
serve.start(http_options={"port": int(sys.argv[1])})
from ray_serve import application
serve.run(application)
response = httpx.post(f"http://127.0.0.1:{sys.argv[1]}/predict", json={"inputs": "the film was good"}, timeout=60)
print("ANSWER", json.dumps([response.status_code, response.json()]))
serve.shutdown()
ray.shutdown()
"""


@pytest.mark.slow
def test_ray_serve_answers_as_predictor_does(saved):
    if find_spec("ray") is None or find_spec("ray.serve") is None:
        pytest.skip("needs ray[serve]")
    environment = {
        **os.environ,
        "LITEBERT_MODEL": str(saved["regressor"]),
        "PYTHONPATH": os.pathsep.join([PYTHONPATH, str(EXAMPLES)]),
    }
    command = [sys.executable, "-c", PROGRAM, str(free_port())]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    (answer,) = [line for line in done.stdout.splitlines() if line.startswith("ANSWER ")]
    status, body = json.loads(answer.removeprefix("ANSWER "))
    assert status == 200
    assert body[0]["score"] == close_to(Predictor.load(saved["regressor"]).regress(["the film was good"])[0])
