"""`serve`: answers HTTP requests with models until a signal ends it."""

import json
import logging
import os
import socket
import tempfile
from typing import Any, Final

from litebert.errors import ConfigError, LitebertError, MissingExtraError
from litebert.serving.serve_settings import ServeSettings

logger = logging.getLogger(__name__)

KEEP_ALIVE_SECONDS: Final = 75
"""Longer than load balancers keep idle connections, so that they close them and not the server."""
WORKER_SECONDS: Final = 60
"""Time for a worker to answer that it is alive, and for its successor to load the models."""
BACKLOG: Final = 2048
"""Connections that wait to be accepted."""


def serve(settings: ServeSettings) -> None:
    """Serve until SIGTERM or SIGINT; LitebertError if a model cannot be loaded or the port is taken."""
    try:
        from litebert.serving.app import create_app
    except ImportError as error:
        raise MissingExtraError(str(error.name), extra="serve", needed_for="litebert serve") from None
    with listen(settings) as listener:
        if settings.workers == 1:
            _run(create_app(settings), settings, listener)
        else:
            _run_workers(settings, listener)


def _run_workers(settings: ServeSettings, listener: socket.socket) -> None:
    from litebert.serving.loaded_model import find_directory
    from litebert.serving.model_registry import directories_by_name
    from litebert.serving.server_workers import SETTINGS

    for model in directories_by_name(settings.models).values():
        find_directory(model, settings)  # an error or a download here, not one in each worker
    # Workers are new processes; they read the settings, and find each other's metrics, through the environment.
    os.environ[SETTINGS] = json.dumps(settings.to_dict())
    with tempfile.TemporaryDirectory(prefix="litebert-metrics-") as directory:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = directory
        _run("litebert.serving.server_workers:create_worker_app", settings, listener)


def listen(settings: ServeSettings) -> socket.socket:
    """The socket, which also shows that the port is free before the models are loaded."""
    try:
        is_ipv6 = ":" in settings.host
        listener = socket.create_server(
            (settings.host, settings.port),
            family=socket.AF_INET6 if is_ipv6 else socket.AF_INET,
            backlog=BACKLOG,
            dualstack_ipv6=settings.host == "::" and socket.has_dualstack_ipv6(),
        )
        # Made of the file number, a socket knows that it is TCP. Otherwise asyncio does not set TCP_NODELAY, and the
        # second part of a response waits 40 ms for the client's acknowledgement of the first.
        return socket.socket(fileno=listener.detach())
    except OSError as error:
        raise ConfigError(
            f"{settings.host}:{settings.port}: cannot listen there ({error.strerror}); choose another host or port"
        ) from None


def _run(app: Any, settings: ServeSettings, listener: socket.socket) -> None:
    import uvicorn

    config = uvicorn.Config(
        app,
        factory=isinstance(app, str),
        workers=settings.workers,
        http="litebert.serving.http.http_protocol:TimedHttpProtocol",
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(settings.timeout_seconds) + 1,
        timeout_worker_healthcheck=WORKER_SECONDS,
    )
    host, port = listener.getsockname()[:2]
    logger.info(
        "listening on http://%s:%d; the page and /docs are there too", f"[{host}]" if ":" in host else host, port
    )
    if settings.workers > 1:
        from litebert.serving.server_workers import ServerWorkers

        supervisor = ServerWorkers(config, sockets=[listener])
        supervisor.run()
        if any(process.exitcode == uvicorn.config.STARTUP_FAILURE for process in supervisor.processes):
            raise LitebertError("the workers could not start; their message is above")
        return
    uvicorn.Server(config).run(sockets=[listener])
