"""The processes of `--workers`: uvicorn's, with reloads that one worker checks before the others follow."""

import json
import logging
import os
import signal
import sys
import time
from typing import Final

from fastapi import FastAPI
from prometheus_client.multiprocess import mark_process_dead
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors.multiprocess import Process

from litebert.errors import LitebertError
from litebert.logs import log_to_stderr
from litebert.serving.app import create_app
from litebert.serving.serve_settings import ServeSettings
from litebert.serving.server_state import ServerState

logger = logging.getLogger(__name__)

SETTINGS: Final = "LITEBERT_SERVE_SETTINGS"
"""Environment variable that hands the settings to workers, as JSON."""
RESTART_SECONDS: Final = 10.0
"""Time between two attempts to start a worker whose models cannot be loaded."""


def create_worker_app() -> FastAPI:
    """The application of one of several worker processes; ends the process if a model cannot be loaded."""
    log_to_stderr()
    settings = ServeSettings.parse(json.loads(os.environ[SETTINGS]), where=SETTINGS)
    try:
        state = ServerState.load(settings)
    except LitebertError as error:
        logger.error("%s", error)
        sys.exit(STARTUP_FAILURE)
    state.supervisor = os.getppid()
    return create_app(settings, state=state)


class ServerWorkers(Multiprocess):
    """Starts the workers, replaces those that die, and passes signals on."""

    _next_start = 0.0
    """When a worker that could not start may be tried again."""

    def handle_hup(self) -> None:
        """SIGHUP: let one worker load the models again. It sends SIGUSR1 when it answers with them."""
        for process in self.processes:
            if process.is_ready():
                _send(signal.SIGHUP, process)
                return
        logger.error("SIGHUP: no worker is ready; send it again")

    def handle_usr1(self) -> None:
        """SIGUSR1: let every worker follow. One that is starting may have read the old files."""
        for process in self.processes:
            if process.wait_until_ready(self.config.timeout_worker_healthcheck, self.should_exit):
                _send(signal.SIGUSR1, process)

    def keep_subprocess_alive(self) -> None:
        """Replace workers that died. One that cannot start ends the server, or is tried again while others answer."""
        for index, process in enumerate(self.processes):
            if self._is_alive(process):
                continue
            if process.exitcode == STARTUP_FAILURE:
                if not any(other.is_ready() for other in self.processes):
                    self.should_exit.set()
                    return
                if time.monotonic() < self._next_start:
                    continue
                self._next_start = time.monotonic() + RESTART_SECONDS
            process.kill()  # if it hangs
            process.join()
            mark_process_dead(process.pid)
            logger.warning("worker %s ended; starting another one", process.pid)
            self.processes[index] = Process(self.config, self.sockets)
            self.processes[index].start()

    def _is_alive(self, process: Process) -> bool:
        """Whether a worker answers in time. One that dies meanwhile is not waited for."""
        end = time.monotonic() + self.config.timeout_worker_healthcheck
        while process.process.is_alive() and time.monotonic() < end:
            if process.ping(timeout=1):
                return True
        return False


def _send(number: signal.Signals, process: Process) -> None:
    assert process.pid is not None, "it answered"
    os.kill(process.pid, number)
