"""Memory of a server whose batches always have other shapes."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.usefixtures("forked_python")

SCRIPT = """
import random, resource, sys
from litebert.serving.loaded_model import load
from litebert.serving.serve_settings import ServeSettings

model = load(sys.argv[1], ServeSettings(models=(sys.argv[1],), threads=1)).predictor
generator = random.Random(0)
for batch in range(80):
    model.embed(["the film was good " * generator.randint(1, 20) for _ in range(generator.randint(1, 16))])
    if batch in (19, 79):
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux only")
def test_memory_does_not_grow_with_the_number_of_batch_shapes(saved):
    """Without a limit for oneDNN's caches these 60 batches add more than 100 MiB."""
    command = [sys.executable, "-c", SCRIPT, str(saved["classifier"])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    early, late = map(int, done.stdout.split())
    assert late - early < 40
