"""Metrics of the server in Prometheus' format."""

import os
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

MULTIPROCESS_DIRECTORY: Final = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable of prometheus_client: the directory in which workers keep their metrics for each other."""
SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
TOKENS: Final = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
EXAMPLES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class ServerMetrics:
    """The metrics of one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        own = {"registry": self._registry}
        self.requests = Counter("litebert_requests", "Responses.", ["route", "status"], **own)
        self.request_seconds = Histogram(
            "litebert_request_seconds", "Time of a request.", ["route"], buckets=SECONDS, **own
        )
        self.disconnects = Counter("litebert_disconnects", "Requests whose client left before the answer.", **own)
        self.rejected = Counter(
            "litebert_rejected", "Requests with status 429, by the limit that was reached.", ["model", "limit"], **own
        )
        self.waiting_tokens = Gauge(
            "litebert_waiting_tokens", "Tokens in the queue.", ["model"], multiprocess_mode="livesum", **own
        )
        self._model_workers = Gauge(
            "litebert_model_workers",
            "Workers that answer with these files of a model.",
            ["model", "digest"],
            multiprocess_mode="livesum",
            **own,
        )
        self._digests: dict[str, str] = {}
        self.batch_examples = Histogram(
            "litebert_batch_examples", "Examples of a batch.", ["model"], buckets=EXAMPLES, **own
        )
        self.batch_tokens = Histogram("litebert_batch_tokens", "Tokens of a batch.", ["model"], buckets=TOKENS, **own)
        self.batch_seconds = Histogram("litebert_batch_seconds", "Time of a batch.", ["model"], buckets=SECONDS, **own)

    def of_model(self, name: str) -> "ModelMetrics":
        """The metrics with the label `model`."""
        return ModelMetrics(self, name)

    def set_digest(self, name: str, digest: str) -> None:
        """Note which files of a model this process answers with."""
        self._model_workers.labels(name, self._digests.get(name, digest)).set(0)
        self._model_workers.labels(name, digest).set(1)
        self._digests[name] = digest

    def exposition(self) -> bytes:
        """The metrics of all workers as text."""
        if MULTIPROCESS_DIRECTORY not in os.environ:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)
        return generate_latest(registry)


class ModelMetrics:
    """The metrics of one model."""

    def __init__(self, metrics: ServerMetrics, name: str) -> None:
        self.rejected = metrics.rejected.labels(name, "max_queue_tokens")
        self.waiting_tokens = metrics.waiting_tokens.labels(name)
        self._examples = metrics.batch_examples.labels(name)
        self._tokens = metrics.batch_tokens.labels(name)
        self._seconds = metrics.batch_seconds.labels(name)

    def observe_batch(self, examples: int, tokens: int, seconds: float) -> None:
        """Count one batch."""
        self._examples.observe(examples)
        self._tokens.observe(tokens)
        self._seconds.observe(seconds)
