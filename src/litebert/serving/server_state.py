"""What the routes of one server process share."""

import asyncio
import gc
import logging
import os
import signal
from dataclasses import dataclass, field
from typing import Annotated, Final

from fastapi import Depends, Request

from litebert.errors import ConfigError, LitebertError
from litebert.serving.model_registry import ModelRegistry
from litebert.serving.serve_settings import ServeSettings
from litebert.serving.served_model import ServedModel
from litebert.serving.server_metrics import ServerMetrics

logger = logging.getLogger(__name__)

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
    supervisor: int | None = None
    """Process id of the parent of several workers; None if this process is the only one."""
    _reloads: set[asyncio.Task[list[ServedModel]]] = field(default_factory=set)

    @classmethod
    def load(cls, settings: ServeSettings) -> "ServerState":
        """The state with every model loaded; LitebertError if one cannot be."""
        api_key = read_api_key(settings)
        metrics = ServerMetrics()
        return cls(settings, ModelRegistry(settings, metrics), metrics, api_key)

    def start_reload(self, name: str | None = None, *, only_changed: bool = False) -> asyncio.Task[list[ServedModel]]:
        """Replace models as `ModelRegistry.reload`; then the other workers follow. An error is logged."""
        task = asyncio.create_task(self._reload(name, only_changed))
        self._reloads.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, reload: asyncio.Task[list[ServedModel]]) -> None:
        self._reloads.discard(reload)
        if not reload.cancelled():
            reload.exception()  # retrieved: after a signal nobody waits for it

    async def _reload(self, name: str | None, only_changed: bool) -> list[ServedModel]:
        try:
            models = await self.models.reload(name, only_changed=only_changed)
        except LitebertError as error:
            logger.error("reload: %s", error)
            raise
        except Exception:
            logger.exception("reload: an unexpected error; the models in use stay")
            raise
        if gc.get_freeze_count():
            freeze_heap()
        if self.supervisor is not None and not only_changed:
            os.kill(self.supervisor, signal.SIGUSR1)
        return models


def freeze_heap() -> None:
    """Leave every object of this moment, such as all of torch, out of garbage collections.

    A request with many short lists makes several collections, which then take a tenth of their time.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def read_api_key(settings: ServeSettings) -> str | None:
    """The key of the file or of the environment; ConfigError for an empty or unreadable one."""
    path = settings.api_key_file
    try:
        key = os.environ.get(API_KEY) if path is None else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"api_key_file: {path} cannot be read ({error}); give a text file with the key") from None
    if key is None:
        return None
    key = key.strip()  # files and secrets often end with a newline
    if not key or not key.isascii():
        raise ConfigError(f"the API key of {path or API_KEY} is empty or not ASCII; give another one")
    return key


async def state_of(request: Request) -> ServerState:
    """The state of the server that answers a request. If it were not async, FastAPI would run it in a thread."""
    return request.app.state.server


State = Annotated[ServerState, Depends(state_of)]
