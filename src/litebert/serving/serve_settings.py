"""Settings of the server."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from litebert.device import validate_device_computes
from litebert.machine import validate_processes
from litebert.settings import MAX_THREADS, DeviceName, InferencePrecision, Settings


class ServeSettings(Settings):
    """The settings of a server."""

    models: tuple[str, ...] = Field(min_length=1)
    """Model or run directories, or names on the hub. The name of a model is that of its directory, or NAME of
    NAME=DIRECTORY."""
    host: str = "127.0.0.1"
    """Address to listen on; 0.0.0.0 for every network interface."""
    port: int = Field(default=8000, ge=0, le=65535)
    """TCP port; 0 for any free one."""
    workers: int = Field(default=1, ge=1)
    """Processes, each with its own copy of the models; at most 32 for each core."""
    runtime: Literal["torch", "onnx"] = "torch"
    """What runs the models: torch, or onnxruntime for directories of `litebert export`."""
    precision: InferencePrecision | None = None
    """Arithmetic of the models; `auto` measures the fastest one of torch (default: fp32, or with `--runtime onnx` the
    most precise one that the directory has)."""
    device: DeviceName = "auto"
    """Where torch runs the models: `cpu`, `cuda`, or `auto`, a CUDA device if there is one (not for int8)."""
    threads: int | None = Field(default=None, gt=0, le=MAX_THREADS)
    """Threads of the runtime in each worker (default: its own choice)."""
    api_key_file: Path | None = None
    """File with the key that requests must have as `Authorization: Bearer KEY` (default: the environment variable
    LITEBERT_API_KEY, or no key)."""
    max_batch_tokens: int = Field(default=2048, gt=0)
    """Tokens that the model reads at once."""
    max_queue_tokens: int = Field(default=8192, gt=0)
    """Waiting tokens of a model above which requests get status 429."""
    max_wait_milliseconds: float = Field(default=2.0, ge=0)
    """Longest time that a batch waits for further requests; it only waits if they arrive faster than this."""
    max_requests: int = Field(default=256, gt=0)
    """Requests that a worker reads or answers at once, above which a further one with a body gets status 429."""
    max_body_bytes: int = Field(default=2_000_000, gt=0)
    """Longest request body."""
    max_texts_per_request: int = Field(default=64, gt=0)
    """Most texts, pairs or questions of one request."""
    max_tokens_per_text: int = Field(default=16_384, gt=0)
    """Longest text in tokens for question answering and token classification, which read it in windows, and for
    `/tokenize`."""
    timeout_seconds: float = Field(default=30.0, gt=0)
    """Time after which a request gets status 504."""
    receive_timeout_seconds: float = Field(default=10.0, gt=0)
    """Time within which a client must send the body of a request."""
    drain_seconds: float = Field(default=1.0, ge=0)
    """How long the server accepts requests after SIGTERM, while /ready has status 503."""
    otlp_endpoint: str | None = None
    """URL that receives OpenTelemetry traces, such as http://localhost:4318/v1/traces (extra `otel`)."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        """The machine can hold the workers, and the runtime can use the device."""
        validate_processes(self.workers, where="workers")
        validate_device_computes(self.device, self.precision)
        if self.runtime == "onnx" and self.device == "cuda":
            raise ValueError("device: onnxruntime computes on the processor here; leave it out, or use --runtime torch")
        return self
