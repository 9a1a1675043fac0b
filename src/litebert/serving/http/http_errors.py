"""Errors of requests, with their HTTP status, as JSON bodies `{"error": …, "error_type": …}`.

The shape of the body, and the types that exist there, are those of text-embeddings-inference.
"""

import logging
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from litebert.errors import LitebertError

logger = logging.getLogger(__name__)


class ErrorBody(BaseModel):
    """What every response with a status from 400 has."""

    error: str
    """What was found, what was expected, what to do."""
    error_type: str


class RequestError(LitebertError):
    """A request that has no answer."""

    status: ClassVar[int] = 422
    error_type: ClassVar[str] = "Validation"

    def __init__(self, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.headers = dict(headers or {})

    def response(self) -> JSONResponse:
        """The HTTP response."""
        return _response(self.status, str(self), self.error_type, self.headers)


class NotJsonError(RequestError):
    """A body that is not JSON in UTF-8."""

    status = 400


class UnauthorizedError(RequestError):
    """No key, or a wrong one."""

    status, error_type = 401, "Unauthorized"


class ForbiddenError(RequestError):
    """A route that this server does not offer to anybody."""

    status, error_type = 403, "Forbidden"


class UnknownModelError(RequestError):
    """A model that is not served."""

    status, error_type = 404, "NotFound"


class SlowBodyError(RequestError):
    """A body that did not arrive in time."""

    status, error_type = 408, "Timeout"


class ReloadError(RequestError):
    """A model directory that cannot replace the one in use."""

    status, error_type = 409, "Reload"


class TooLargeError(RequestError):
    """A body, a list or a text beyond its limit."""

    status = 413


class OverloadedError(RequestError):
    """A full queue."""

    status, error_type = 429, "Overloaded"


class ModelFailedError(RequestError):
    """A model that raised an unexpected error; the log has it."""

    status, error_type = 500, "Backend"


class UnavailableError(RequestError):
    """A server that is about to end."""

    status, error_type = 503, "Unhealthy"


class AnswerTimeoutError(RequestError):
    """An answer that was not ready in time."""

    status, error_type = 504, "Timeout"


_ERRORS = (
    *(NotJsonError, UnauthorizedError, UnknownModelError, SlowBodyError, TooLargeError, RequestError),
    *(OverloadedError, ModelFailedError, UnavailableError, AnswerTimeoutError),
)


def documented(*errors: type[RequestError]) -> dict[int | str, dict[str, Any]]:
    """The responses of errors for the OpenAPI document."""
    return {error.status: {"model": ErrorBody, "description": error.__doc__} for error in errors}


ERROR_RESPONSES: Final = documented(*_ERRORS)
"""What any route that asks a model may return."""


_SENTENCES: Final = {"model_attributes_type": "expected an object", "extra_forbidden": "unknown field"}
"""Instead of messages of pydantic that speak of Python."""
_FIELD_NAME: Final = re.compile("[a-z][a-z_]{0,39}")
"""What may be the name of a field of another version or server; anything else may be a text."""


def add_error_handlers(app: FastAPI) -> None:
    """Answer every error with an `ErrorBody`, without texts of the request and without a traceback."""
    app.add_exception_handler(RequestError, _request_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_exception)


def _request_error(request: Request, error: Any) -> JSONResponse:
    return error.response()


def _invalid(request: Request, error: Any) -> JSONResponse:
    """Which field of a body is wrong, and how; of several problems the first one."""
    problem = error.errors()[0]
    known = problem["loc"]
    if problem["type"] == "extra_forbidden" and not _FIELD_NAME.fullmatch(str(known[-1])):
        known = known[:-1]  # the name of a field that does not exist is text of the request
    where = ".".join(map(str, known[1:] or known))
    sentence = _SENTENCES.get(problem["type"], problem["msg"])
    return RequestError(f"{where}: {sentence}; see /docs").response()


def _http_exception(request: Request, error: Any) -> JSONResponse:
    names = {404: "NotFound", 405: "NotFound"}
    message = f"{error.detail}; see /docs" if error.status_code in names else str(error.detail)
    return _response(error.status_code, message, names.get(error.status_code, "Validation"), error.headers)


def unexpected_response(path: str, error: Exception) -> JSONResponse:
    """The response to an error that should not happen, which is logged with its traceback."""
    logger.error("%s: %s", path, type(error).__name__, exc_info=error)
    return ModelFailedError("the request failed; the log of the server has the error").response()


def _response(status: int, message: str, error_type: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    body = {"error": message, "error_type": error_type}
    return JSONResponse(body, status_code=status, headers=dict(headers or {}))
