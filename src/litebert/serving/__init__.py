"""A server that answers HTTP requests with models: FastAPI routes over a micro-batcher over `Predictor`.

Before: inference, runtime. After: `litebert serve`.
"""
