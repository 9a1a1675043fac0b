"""The toy, which knows the protocols' names only, is what the engine asks for."""

import pytest

from litebert.training import protocols
from litebert.training.callbacks.metric_logger import MetricsFile
from support.runs.toy import ToyBatches, ToyObjective


@pytest.mark.parametrize(
    ("value", "protocol"),
    [
        (ToyBatches().microbatches(0)[0], protocols.Batch),
        (ToyBatches(), protocols.BatchSource),
        (ToyObjective(), protocols.Objective),
    ],
)
def test_protocol_accepts_a_class_with_its_methods(value, protocol):
    assert isinstance(value, protocol)


def test_metrics_file_is_a_tracker(tmp_path):
    metrics = MetricsFile(tmp_path / "metrics.jsonl", step=0)
    assert isinstance(metrics, protocols.Tracker)
    metrics.finish()
