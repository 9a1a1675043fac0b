"""Traces of requests for OpenTelemetry."""

from fastapi import FastAPI

from litebert.errors import MissingExtraError


def trace_requests(app: FastAPI, endpoint: str) -> None:
    """Send a trace of every request to `endpoint`; MissingExtraError without the extra `otel`."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise MissingExtraError(str(error.name), extra="otel", needed_for="otlp_endpoint") from None
    provider = TracerProvider(resource=Resource.create({"service.name": "litebert"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    FastAPIInstrumentor.instrument_app(app, tracer_provider=provider, exclude_spans=["receive", "send"])
