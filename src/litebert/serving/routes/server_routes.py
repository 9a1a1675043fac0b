"""Routes about the server itself."""

import os
import signal
from typing import Any

from fastapi import APIRouter, Response

from litebert import __version__
from litebert.serving import schemas
from litebert.serving.http_errors import ERROR_RESPONSES, ErrorBody, ForbiddenError, ReloadError, UnavailableError
from litebert.serving.loaded_model import PREDICT, LoadedModel
from litebert.serving.routes import server_schemas
from litebert.serving.server_state import State

router = APIRouter(tags=["server"])


@router.get("/health")
async def health(state: State) -> server_schemas.Status:
    """Whether the process runs."""
    return server_schemas.Status(status="draining" if state.is_draining else "ok")


@router.get("/ready", responses={503: ERROR_RESPONSES[503]})
async def ready(state: State) -> server_schemas.Status:
    """Whether the server should get requests: status 503 after SIGTERM."""
    if state.is_draining:
        raise UnavailableError("the server is about to end; ask another one")
    return server_schemas.Status(status="ok")


@router.get("/info", responses={401: ERROR_RESPONSES[401]})
async def info(state: State) -> server_schemas.ServerInformation:
    """The models with their routes, and the limits of requests."""
    models = [
        server_schemas.ModelInformation(
            name=model.name,
            task=model.loaded.task,
            labels=list(model.loaded.labels),
            routes=list(model.loaded.routes),
            max_length=model.loaded.max_length,
            loaded_at=model.loaded_at,
        )
        for model in state.models
    ]
    first, settings = next(iter(state.models)), state.settings
    return server_schemas.ServerInformation(
        version=__version__,
        models=models,
        needs_key=state.api_key is not None,
        model_id=first.name,
        model_dtype=settings.precision,
        model_type=_model_type(first.loaded),
        max_input_length=first.loaded.max_length,
        max_client_batch_size=settings.max_texts_per_request,
        max_concurrent_requests=settings.max_queue_tokens,
        **settings.model_dump(include=set(server_schemas.ServerInformation.model_fields), exclude={"models"}),
    )


def _model_type(model: LoadedModel) -> Any:
    """As text-embeddings-inference names it: a model that scores, or one whose vectors can be used."""
    if model.task not in PREDICT:
        return {"embedding": server_schemas.EmbeddingType(pooling=model.pooling)}
    labels = {str(index): label for index, label in enumerate(model.labels)}
    scorer = server_schemas.ScorerType(id2label=labels, label2id={label: int(index) for index, label in labels.items()})
    return {"reranker" if model.task == "regression" else "classifier": scorer}


@router.get("/v1/models", responses={401: ERROR_RESPONSES[401]})
async def openai_models(state: State) -> schemas.OpenAIModels:
    """The models, for the OpenAI client."""
    return schemas.OpenAIModels(data=[schemas.OpenAIModel(id=model.name, created=0) for model in state.models])


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(state: State) -> Response:
    """Metrics in Prometheus' text format."""
    return Response(state.metrics.exposition(), media_type="text/plain; version=0.0.4")


@router.post(
    "/reload",
    responses={
        **ERROR_RESPONSES,
        **{each.status: {"model": ErrorBody, "description": each.__doc__} for each in (ForbiddenError, ReloadError)},
    },
)
async def reload(body: server_schemas.ReloadRequest, state: State) -> server_schemas.Reloaded:
    """Load models again from their directories and replace those in use. Needs a server with a key."""
    if state.api_key is None:
        raise ForbiddenError("reload: the server has no key; start it with one, or send it SIGHUP")
    names = await state.models.reload(body.model)
    if state.settings.workers > 1:
        os.kill(os.getppid(), signal.SIGHUP)  # the parent replaces every worker
    return server_schemas.Reloaded(models=names)
