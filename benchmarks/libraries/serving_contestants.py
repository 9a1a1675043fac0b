"""Servers that `benchmarks/serving.py` compares with: what one writes in an hour around a library.

CONTESTANT=transformers|onnxruntime, MODEL, THREADS in the environment; started by serving.py.

- `transformers`: a FastAPI route around `pipeline("text-classification")`, one request at a time a thread.
- `onnxruntime`: a FastAPI route around an ONNX graph, with a batcher that takes up to 32 waiting requests in turn
  and pads them to the longest.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import FastAPI
from pydantic import BaseModel

BATCH = 32


class Question(BaseModel):
    inputs: str


def transformers_app(model: Path, threads: int) -> FastAPI:
    import torch
    from transformers import pipeline

    torch.set_num_threads(threads)
    classify = pipeline("text-classification", model=str(model), top_k=None)
    app = FastAPI()

    @app.post("/predict")
    def predict(question: Question) -> list[dict[str, Any]]:
        return classify([question.inputs])[0]

    return app


def onnxruntime_app(model: Path, threads: int) -> FastAPI:
    import onnxruntime
    from transformers import AutoTokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model / "onnx" / "model.onnx", options, providers=["CPUExecutionProvider"])
    tokenizer = AutoTokenizer.from_pretrained(str(model))
    names = [each.name for each in session.get_inputs()]
    waiting: asyncio.Queue[tuple[str, asyncio.Future[Any]]] = asyncio.Queue()

    def scores(texts: list[str]) -> np.ndarray:
        padded = tokenizer(texts, padding=True, truncation=True, max_length=512, return_tensors="np")
        inputs = {name: padded[name].astype(np.int64) for name in names if name in padded}
        logits = session.run(["logits"], inputs)[0]
        return np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)

    async def answer() -> None:
        while True:
            batch = [await waiting.get()]
            while len(batch) < BATCH and not waiting.empty():
                batch.append(waiting.get_nowait())
            found = await asyncio.to_thread(scores, [text for text, _ in batch])
            for (_, future), row in zip(batch, found, strict=True):
                future.set_result(row)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(answer())
        yield
        task.cancel()

    app = FastAPI(lifespan=lifespan)

    @app.post("/predict")
    async def predict(question: Question) -> list[dict[str, Any]]:
        future = asyncio.get_running_loop().create_future()
        waiting.put_nowait((question.inputs, future))
        row = await future
        return [{"label": str(label), "score": float(score)} for label, score in enumerate(row)]

    return app


APPS: dict[str, Callable[[Path, int], FastAPI]] = {"transformers": transformers_app, "onnxruntime": onnxruntime_app}


def create() -> FastAPI:
    return APPS[os.environ["CONTESTANT"]](Path(os.environ["MODEL"]), int(os.environ["THREADS"]))
