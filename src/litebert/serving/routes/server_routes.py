"""Routes about the server itself."""

import os
import signal

from fastapi import APIRouter, Response

from litebert import __version__
from litebert.serving import schemas
from litebert.serving.http_errors import ERROR_RESPONSES, ErrorBody, ForbiddenError, ReloadError, UnavailableError
from litebert.serving.server_state import State

router = APIRouter(tags=["server"])


@router.get("/health")
async def health(state: State) -> schemas.Status:
    """Whether the process runs."""
    return schemas.Status(status="draining" if state.is_draining else "ok")


@router.get("/ready", responses={503: ERROR_RESPONSES[503]})
async def ready(state: State) -> schemas.Status:
    """Whether the server should get requests: status 503 after SIGTERM."""
    if state.is_draining:
        raise UnavailableError("the server is about to end; ask another one")
    return schemas.Status(status="ok")


@router.get("/info", responses={401: ERROR_RESPONSES[401]})
async def info(state: State) -> schemas.ServerInformation:
    """The models with their routes, and the limits of requests."""
    models = [
        schemas.ModelInformation(
            name=model.name,
            task=model.loaded.task,
            labels=list(model.loaded.labels),
            routes=list(model.loaded.routes),
            max_length=model.loaded.max_length,
            loaded_at=model.loaded_at,
        )
        for model in state.models
    ]
    limits = state.settings.model_dump(include=set(schemas.ServerInformation.model_fields), exclude={"models"})
    return schemas.ServerInformation(version=__version__, models=models, needs_key=state.api_key is not None, **limits)


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
async def reload(body: schemas.ReloadRequest, state: State) -> schemas.Reloaded:
    """Load models again from their directories and replace those in use. Needs a server with a key."""
    if state.api_key is None:
        raise ForbiddenError("reload: the server has no key; start it with one, or send it SIGHUP")
    names = await state.models.reload(body.model)
    if state.settings.workers > 1:
        os.kill(os.getppid(), signal.SIGHUP)  # the parent replaces every worker
    return schemas.Reloaded(models=names)
