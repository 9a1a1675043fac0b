"""uvicorn's HTTP protocol with a time limit for the headers of a request, which uvicorn lacks."""

import asyncio
from typing import Final

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_SECONDS: Final = 10.0


class TimedHttpProtocol(H11Protocol):
    """Closes connections whose client takes too long for its first or next request ("slowloris")."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyrefly: ignore[bad-override]
        """Start the time of the first request."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(HEADERS_SECONDS, transport.close)

    def data_received(self, data: bytes) -> None:
        """End the time when the headers are complete; start it when the next ones begin."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(HEADERS_SECONDS, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the time."""
        self._stop_timer()
        super().connection_lost(exc)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
