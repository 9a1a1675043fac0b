"""Traces of requests, and what is missing without the extras."""

import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from litebert.cli.main import main
from litebert.errors import MissingExtraError
from support.programs.serving import Application


class Collector(BaseHTTPRequestHandler):
    """Keeps the bodies that it receives."""

    bodies: list[bytes] = []  # noqa: RUF012
    received = threading.Event()

    def do_POST(self) -> None:
        self.bodies.append(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.end_headers()
        self.received.set()

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def collector():
    server = HTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1/traces"
    server.shutdown()
    thread.join()
    server.server_close()


def test_requests_are_traced_with_their_route_and_without_their_text(saved, collector, monkeypatch):
    pytest.importorskip("opentelemetry.instrumentation.fastapi")
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    with Application(saved["regressor"], otlp_endpoint=collector) as application:
        assert application.ask("/predict", {"inputs": "a secret"}).status_code == 200
        assert Collector.received.wait(20)
    traces = b"".join(Collector.bodies)
    assert b"/predict" in traces
    assert b"secret" not in traces


def test_traces_without_the_extra_name_it(saved, monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(MissingExtraError, match=r"litebert\[otel\]"):
        Application(saved["regressor"], otlp_endpoint="http://127.0.0.1:1")


def test_serve_without_the_extra_names_it(saved, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "litebert.serving.app", None)
    assert main(["serve", str(saved["regressor"]), "--port", "0"]) == 2
    assert "litebert[serve]" in capsys.readouterr().err
