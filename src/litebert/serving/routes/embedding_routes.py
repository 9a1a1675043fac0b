"""Routes of embeddings and of tokens."""

import base64
from typing import Any

import numpy as np
from fastapi import APIRouter, Response

from litebert.serving import schemas
from litebert.serving.http.http_errors import ERROR_RESPONSES, RequestError
from litebert.serving.model_operations import Operation, OperationInput
from litebert.serving.served_model import ServedModel
from litebert.serving.server_state import State

router = APIRouter(responses=ERROR_RESPONSES, tags=["embeddings"])


@router.post("/embed")
async def embed(body: schemas.EmbedRequest, state: State, response: Response) -> list[list[float]]:
    """The vector of each text."""
    model = state.models.find(body.model, "/embed")
    texts = _texts(body.inputs, model)
    options = {"pooling": body.pooling, "normalize": body.normalize, "dimensions": body.dimensions}
    vectors = await _vectors(model, texts, response, truncate=body.truncate, **options)
    return [vector.tolist() for vector in vectors]


@router.post("/similarity")
async def similarity(body: schemas.SimilarityRequest, state: State, response: Response) -> list[float]:
    """The cosine of the source sentence and each other sentence."""
    model = state.models.find(body.model, "/similarity")
    texts = [body.inputs.source_sentence, *body.inputs.sentences]
    truncate = body.truncate or (body.parameters is not None and body.parameters.truncate)
    source, *others = await _vectors(model, texts, response, truncate=truncate)
    return [float(source @ other) for other in others]


@router.post("/v1/embeddings")
async def openai_embeddings(
    body: schemas.OpenAIEmbeddingsRequest, state: State, response: Response
) -> schemas.OpenAIEmbeddings:
    """The vector of each text, for the OpenAI client."""
    model = state.models.find(body.model, "/v1/embeddings")
    texts = _texts(body.input, model)
    vectors = await _vectors(model, texts, response, can_truncate=False, dimensions=body.dimensions)
    tokens = int(response.headers["x-compute-tokens"])
    return schemas.OpenAIEmbeddings(
        data=[
            schemas.OpenAIEmbedding(index=index, embedding=_encoded(vector, body.encoding_format))
            for index, vector in enumerate(vectors)
        ],
        model=model.name,
        usage=schemas.OpenAIUsage(prompt_tokens=tokens, total_tokens=tokens),
    )


@router.post("/tokenize", response_model=list[list[schemas.TokenInText]])
async def tokenize(body: schemas.TokenizeRequest, state: State) -> Response:
    """The tokens of each text with their positions."""
    model = state.models.find(body.model, "/tokenize")
    found = await model.tokenize(schemas.as_list(body.inputs), add_special_tokens=body.add_special_tokens)
    return Response(found, media_type="application/json")


def _texts(inputs: Any, model: ServedModel) -> list[str]:
    """The texts of `TextsOrIds`; token ids become text, as in text-embeddings-inference."""
    several = isinstance(inputs, list) and not isinstance(inputs[0], int)
    return [_text(each, model.loaded.tokenizer) for each in (inputs if several else [inputs])]


def _text(text_or_ids: str | list[int], tokenizer: Any) -> str:
    if isinstance(text_or_ids, str):
        return text_or_ids
    if max(text_or_ids) >= tokenizer.vocab_size:
        raise RequestError(f"inputs: token id {max(text_or_ids)}, the vocabulary has {tokenizer.vocab_size}")
    return tokenizer.decode(text_or_ids)


async def _vectors(
    model: ServedModel,
    texts: list[str],
    response: Response,
    *,
    truncate: bool | None = None,
    can_truncate: bool = True,
    **options: Any,
) -> list[np.ndarray]:
    width = model.loaded.embedding_size
    if (options.get("dimensions") or 0) > width:
        raise RequestError(f"dimensions: {options['dimensions']}, the vectors of the model have {width}")
    operation = Operation("embed", tuple(sorted(options.items())))
    inputs = [OperationInput(text, [(text,)]) for text in texts]
    headers = response.headers
    return await model.answer(operation, inputs, truncate=truncate, can_truncate=can_truncate, headers=headers)


def _encoded(vector: np.ndarray, encoding: str) -> list[float] | str:
    little_endian = vector.astype("<f4")
    return base64.b64encode(little_endian.tobytes()).decode() if encoding == "base64" else vector.tolist()
