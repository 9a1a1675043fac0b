"""Checks a JSON body before its fields are validated: encoding, syntax, and the number of texts."""

import json
import re
from typing import Any, Final

from litebert.serving.http.http_errors import NotJsonError, RequestError, TooLargeError

LISTS: Final = ("inputs", "input", "texts", "sentences", "options")
"""Fields with a list of texts, pairs or questions; `sentences` is a field of `inputs`."""
JSON_TYPES: Final = re.compile(r"application/([^/;]+\+)?json")


def check_json_body(body: bytes, *, content_type: str, max_texts: int) -> None:
    """Raise NotJsonError for other bodies than JSON in UTF-8, TooLargeError for more texts than a request may have."""
    if not JSON_TYPES.fullmatch(content_type.partition(";")[0].strip().lower()):
        raise RequestError("body: its content type is not JSON; send the header `Content-Type: application/json`")
    _check_number_of_texts(_parsed(body), max_texts)


def _parsed(body: bytes) -> Any:
    if b"\0" in body:  # no sign of JSON, but in every JSON text in UTF-16 or UTF-32
        raise NotJsonError("body: not UTF-8, or with NUL characters; send JSON in UTF-8")
    try:
        return json.loads(body.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise NotJsonError(f"body: not UTF-8, the error is at byte {error.start}; send JSON in UTF-8") from None
    except json.JSONDecodeError as error:
        raise NotJsonError(f"body: not JSON, the error is at character {error.pos}; see /docs") from None
    except RecursionError:
        raise NotJsonError("body: lists or objects are nested too deeply; see /docs") from None
    except ValueError:
        raise NotJsonError("body: a number has too many digits; see /docs") from None


def _check_number_of_texts(body: Any, limit: int) -> None:
    """Raise TooLargeError for a list of more texts than the limit; lists of token ids have another one."""
    inputs = body.get("inputs") if isinstance(body, dict) else None
    for fields in (body, inputs):
        if not isinstance(fields, dict):
            continue
        for name in LISTS:
            texts = fields.get(name)
            if isinstance(texts, list) and len(texts) > limit and type(texts[0]) is not int:
                raise TooLargeError(
                    f"{name}: {len(texts)} texts, the limit of one request is {limit}; send several requests"
                )
