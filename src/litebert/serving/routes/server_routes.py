"""Routes about the server itself."""

import asyncio
from typing import Any

from fastapi import APIRouter, Response

from litebert import __version__
from litebert.serving import schemas
from litebert.serving.http.http_errors import (
    ERROR_RESPONSES,
    ForbiddenError,
    ReloadError,
    RequestError,
    UnavailableError,
    documented,
)
from litebert.serving.loaded_model import LoadedModel
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
            max_position_embeddings=model.loaded.max_position_embeddings,
            digest=model.loaded.digest,
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
        model_dtype=first.loaded.precision,
        model_type=_model_type(first.loaded),
        max_input_length=first.loaded.max_length,
        max_client_batch_size=settings.max_texts_per_request,
        max_concurrent_requests=settings.max_requests,
        **settings.model_dump(include=set(server_schemas.ServerInformation.model_fields), exclude={"models"}),
    )


def _model_type(model: LoadedModel) -> Any:
    """As text-embeddings-inference names it: a model that scores, or one whose vectors can be used."""
    if model.scorer is None:
        return {"embedding": server_schemas.EmbeddingType(pooling=model.pooling)}
    labels = {str(index): label for index, label in enumerate(model.labels)}
    scorer = server_schemas.ScorerType(id2label=labels, label2id={label: int(index) for index, label in labels.items()})
    return {model.scorer.model_type: scorer}


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
        **documented(ForbiddenError, ReloadError),
        202: {"model": server_schemas.Reloaded, "description": "One worker has the new models, the others follow."},
    },
)
async def reload(
    state: State, response: Response, body: server_schemas.ReloadRequest | None = None
) -> server_schemas.Reloaded:
    """Load models again from where they were loaded, and replace those in use. Needs a server with a key.

    With several workers, one of them has loaded and checked the new models when the status is 202; the others follow.
    """
    if state.api_key is None:
        raise ForbiddenError("reload: the server has no key; start it with one, or send it SIGHUP")
    name = None if body is None else body.model
    if name is not None and state.supervisor is not None:
        raise RequestError("model: several workers reload all models together; leave the field out")
    # Also if the client leaves or the time is up, all models are replaced or none.
    models = await asyncio.shield(state.start_reload(name))
    response.status_code = 200 if state.supervisor is None else 202
    return server_schemas.Reloaded(
        models=[server_schemas.ModelVersion(name=each.name, digest=each.loaded.digest) for each in models]
    )
