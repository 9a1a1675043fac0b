"""`create_app`: the ASGI application, for uvicorn, Ray Serve or any other server."""

import asyncio
import logging
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI

from litebert import __version__
from litebert.serving.http.http_errors import add_error_handlers
from litebert.serving.http.request_guard import RequestGuard
from litebert.serving.routes import embedding_routes, page_routes, prediction_routes, server_routes
from litebert.serving.serve_settings import ServeSettings
from litebert.serving.server_state import ServerState, freeze_heap
from litebert.serving.tracing import trace_requests

logger = logging.getLogger(__name__)


def create_app(settings: ServeSettings, *, state: ServerState | None = None) -> FastAPI:
    """The application with its models loaded; LitebertError if one cannot be.

    Args:
        settings: those of `litebert serve`; address, port and workers are up to whoever runs the application.
        state: the models, where they are loaded already.
    """
    state = ServerState.load(settings) if state is None else state
    # The assets of FastAPI's own /docs come from another host: page_routes.py has one that works without a network.
    app = FastAPI(title="litebert", version=__version__, docs_url=None, redoc_url=None, lifespan=_lifespan)
    app.state.server = state
    for routes in (prediction_routes, embedding_routes, server_routes, page_routes):
        app.include_router(routes.router)
    page_routes.add_page_files(app)
    add_error_handlers(app)
    app.add_middleware(RequestGuard, state=state)
    if settings.otlp_endpoint is not None:
        trace_requests(app, settings.otlp_endpoint)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Signals and memory of the process that serves; at its end every request that waits is answered."""
    state: ServerState = app.state.server
    if threading.current_thread() is threading.main_thread():
        _add_signal_handlers(state)
    freeze_heap()
    yield
    await state.models.close()


def _add_signal_handlers(state: ServerState) -> None:
    """SIGTERM: not ready at once, and the end a little later. SIGHUP: load the models again.

    SIGUSR1, from the parent of several workers: load the models whose files have changed.
    """
    loop = asyncio.get_running_loop()
    end = signal.getsignal(signal.SIGTERM)  # of uvicorn: no new connections, answer the others, end

    def drain() -> None:
        state.is_draining = True
        logger.info("SIGTERM: not ready; ending in %g seconds", state.settings.drain_seconds)
        if callable(end):
            loop.call_later(state.settings.drain_seconds, end, signal.SIGTERM, None)

    loop.add_signal_handler(signal.SIGTERM, drain)
    loop.add_signal_handler(signal.SIGHUP, state.start_reload)
    loop.add_signal_handler(signal.SIGUSR1, partial(state.start_reload, only_changed=True))
