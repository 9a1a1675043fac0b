"""Bodies of the routes about the server itself."""

from typing import Literal

from litebert.serving.schemas import Body, Reply


class ModelVersion(Reply):
    """A model and which files it is."""

    name: str
    digest: str
    """Of the files: another one after the files have changed."""


class ModelInformation(ModelVersion):
    """One served model."""

    task: str
    labels: list[str]
    routes: list[str]
    max_length: int
    """Longest sequence of its task in tokens, as in fine-tuning."""
    max_position_embeddings: int
    """Longest text of the routes of embeddings in tokens."""
    loaded_at: str
    """Time in UTC, ISO 8601."""


class EmbeddingType(Reply):
    """A model that makes vectors."""

    pooling: str


class ScorerType(Reply):
    """The labels of a model that scores texts or pairs."""

    id2label: dict[str, str]
    label2id: dict[str, int]


class ServerInformation(Reply):
    """The server and its limits. Where text-embeddings-inference describes its one model, this is the first one."""

    version: str
    models: list[ModelInformation]
    model_id: str
    model_sha: None = None
    model_dtype: str
    model_type: dict[Literal["embedding"], EmbeddingType] | dict[Literal["classifier", "reranker"], ScorerType]
    max_input_length: int
    """`max_length` of the first model."""
    max_client_batch_size: int
    """`max_texts_per_request`."""
    max_concurrent_requests: int
    """`max_requests`."""
    auto_truncate: Literal[False] = False
    tokenization_workers: Literal[1] = 1
    runtime: str
    max_batch_tokens: int
    max_queue_tokens: int
    max_texts_per_request: int
    max_tokens_per_text: int
    max_body_bytes: int
    timeout_seconds: float
    needs_key: bool


class Status(Reply):
    """Whether the server answers requests."""

    status: Literal["ok", "draining"]


class ReloadRequest(Body):
    """Which model to load again; all by default."""

    model: str | None = None


class Reloaded(Reply):
    """The models that were replaced."""

    models: list[ModelVersion]
