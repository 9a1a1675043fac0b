"""What the routes of one server process share."""

import os
from dataclasses import dataclass, field
from typing import Annotated, Final

from fastapi import Depends, Request

from litebert.errors import ConfigError
from litebert.serving.model_registry import ModelRegistry
from litebert.serving.serve_settings import ServeSettings
from litebert.serving.server_metrics import ServerMetrics

API_KEY: Final = "LITEBERT_API_KEY"
"""Environment variable with the key."""


@dataclass
class ServerState:
    """The models and the state of a server."""

    settings: ServeSettings
    models: ModelRegistry
    metrics: ServerMetrics
    api_key: str | None
    is_draining: bool = False
    """Whether SIGTERM has arrived: the server still answers, but is not ready for more."""
    requests: int = field(default=0)
    """Requests that have not been answered yet."""

    @classmethod
    def load(cls, settings: ServeSettings) -> "ServerState":
        """The state with every model loaded; LitebertError if one cannot be."""
        api_key = read_api_key(settings)
        metrics = ServerMetrics()
        return cls(settings, ModelRegistry(settings, metrics), metrics, api_key)


def read_api_key(settings: ServeSettings) -> str | None:
    """The key of the file or of the environment; ConfigError for an empty or unreadable one."""
    path = settings.api_key_file
    try:
        key = os.environ.get(API_KEY) if path is None else path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"api_key_file: {path} cannot be read ({error}); give a text file with the key") from None
    if (key is not None and not key.isascii()) or key == "":
        raise ConfigError(f"the API key of {path or API_KEY} is empty or not ASCII; give another one")
    return key


async def state_of(request: Request) -> ServerState:
    """The state of the server that answers a request. If it were not async, FastAPI would run it in a thread."""
    return request.app.state.server


State = Annotated[ServerState, Depends(state_of)]
