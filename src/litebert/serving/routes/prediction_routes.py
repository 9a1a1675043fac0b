"""Routes of fine-tuned models and of masked language models."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from itertools import accumulate
from typing import Any, Final, cast

from fastapi import APIRouter, Response

from litebert.inference.method_inputs import word_examples
from litebert.inference.prediction_methods import MAX_ANSWER_LENGTH, choice_texts
from litebert.serving import schemas
from litebert.serving.http.http_errors import ERROR_RESPONSES, RequestError, TooLargeError
from litebert.serving.model_operations import Operation, OperationInput
from litebert.serving.served_model import ServedModel, json_list
from litebert.serving.served_tasks import Scorer
from litebert.serving.server_state import State

SINGLE_TEXTS: Final = (
    'inputs: ["A", "B"] is one pair of texts, but the model was trained on single texts; send a batch as [["A"], ["B"]]'
)
router = APIRouter(responses=ERROR_RESPONSES, tags=["predictions"])
MASK = "[MASK]"
MAX_CANDIDATES: Final = 10_000
"""For all masks of a request: writing a response of this size takes some hundredths of a second."""


@router.post("/predict")
async def predict(
    body: schemas.PredictRequest, state: State, response: Response
) -> list[schemas.Score] | list[list[schemas.Score]]:
    """Every label with its probability, best first, or the value of a regression model.

    A list of results if `inputs` is a list of lists or if there are `parameters`, else one result.
    """
    model = state.models.find(body.model, "/predict")
    is_batch = isinstance(body.inputs, list) and isinstance(body.inputs[0], list)
    texts = [_text_or_pair(each) for each in (body.inputs if is_batch else [body.inputs])]
    if model.loaded.reads_single_texts and not all(isinstance(each, str) for each in texts):
        raise RequestError(SINGLE_TEXTS)
    inputs = [OperationInput(each, [(each,) if isinstance(each, str) else each]) for each in texts]
    scorer = _scorer(model)
    parameters = body.parameters or schemas.PredictParameters()
    if parameters.function_to_apply not in (None, scorer.function):
        raise RequestError(
            f"parameters.function_to_apply: {parameters.function_to_apply}, but the scores of this model are those of "
            f"{scorer.function}; leave it out"
        )
    results = await model.answer(Operation(scorer.method), inputs, truncate=body.truncate, headers=response.headers)
    raw = scorer.raw_score if body.raw_scores else None
    scores = [_scores(each, model.loaded.labels, raw)[: parameters.top_k] for each in results]
    return scores if is_batch or body.parameters is not None else scores[0]


@router.post("/rerank")
async def rerank(body: schemas.RerankRequest, state: State, response: Response) -> list[schemas.Rank]:
    """The texts by their relevance to the query: the value, or the second of two probabilities."""
    model = state.models.find(body.model, "/rerank")
    inputs = [OperationInput((body.query, text), [(body.query, text)]) for text in body.texts]
    scorer = _scorer(model)
    results = await model.answer(Operation(scorer.method), inputs, truncate=body.truncate, headers=response.headers)
    relevant = model.loaded.labels[-1]
    scores = [each if isinstance(each, float) else each.probabilities[relevant] for each in results]
    if body.raw_scores:
        scores = [scorer.raw_relevance(each) for each in scores]
    order = sorted(range(len(scores)), key=lambda index: -scores[index])
    return [
        schemas.Rank(index=index, score=scores[index], text=body.texts[index] if body.return_text else None)
        for index in order
    ]


@router.post("/multiple-choice")
async def multiple_choice(
    body: schemas.MultipleChoiceRequest, state: State, response: Response
) -> schemas.ChoiceResponse:
    """The best of several options, as in RACE."""
    model = state.models.find(body.model, "/multiple-choice")
    sequences = choice_texts(body.text, body.question, body.options)
    example = (body.text, body.question, tuple(body.options))
    inputs = [OperationInput(example, sequences, max_last_tokens=MAX_ANSWER_LENGTH)]
    operation = Operation("multiple_choice", num_options=len(body.options))
    (choice,) = await model.answer(operation, inputs, truncate=body.truncate, headers=response.headers)
    return schemas.ChoiceResponse(
        index=choice.index,
        letter=choice.letter,
        probability=choice.probability,
        probabilities=list(choice.probabilities),
    )


@router.post("/fill-mask")
async def fill_mask(
    body: schemas.FillMaskRequest, state: State, response: Response
) -> list[list[list[schemas.MaskCandidate]]]:
    """For each text, for each `[MASK]` in it, the most probable tokens, best first."""
    model = state.models.find(body.model, "/fill-mask")
    texts = schemas.as_list(body.inputs)
    if not all(MASK in text for text in texts):
        raise RequestError(f"inputs: a text has no {MASK}; write {MASK} where the model should fill in a word")
    if (total := body.top_k * sum(text.count(MASK) for text in texts)) > MAX_CANDIDATES:
        raise TooLargeError(
            f"top_k: {total} candidates for all masks, the limit of one request is {MAX_CANDIDATES}; reduce top_k"
        )
    operation = Operation("fill_masks", (("top_k", body.top_k),))
    # A mask is one token, as is each of the two special tokens: the parts between masks are counted.
    inputs = [OperationInput(text, [tuple(text.split(MASK))]) for text in texts]
    results = await model.answer(operation, inputs, headers=response.headers)
    return [
        [
            [
                schemas.MaskCandidate(piece=each.piece, word=each.word, probability=each.probability)
                for each in candidates
            ]
            for candidates in filled.masks
        ]
        for filled in results
    ]


@router.post("/token-classification", response_model=list[schemas.TaggedText])
async def token_classification(body: schemas.TokenClassificationRequest, state: State) -> Response:
    """For each text its words with their labels, and the entities that they form."""
    model = state.models.find(body.model, "/token-classification")
    given = schemas.as_list(body.inputs)
    # In a thread, as there may be a million words, and afterwards as many results as tokens.
    examples = await asyncio.to_thread(word_examples, given)
    if not all(each.words for each in examples):
        raise RequestError("inputs: a text has no words; remove it")
    texts = [" ".join(each.words) for each in examples]
    inputs = [OperationInput(sentence, [(text,)]) for sentence, text in zip(given, texts, strict=True)]
    headers: dict[str, str] = {}
    results = await model.answer(Operation("classify_tokens"), inputs, headers=headers)
    pairs = zip(examples, results, strict=True)
    content = await asyncio.to_thread(lambda: json_list(_tagged(*each) for each in pairs))
    return Response(content, headers=headers, media_type="application/json")


@router.post("/question-answering")
async def question_answering(
    body: schemas.QuestionAnsweringRequest, state: State, response: Response
) -> list[schemas.AnswerResponse]:
    """The answer to each question, with its position in the context."""
    model = state.models.find(body.model, "/question-answering")
    pairs = [(each.question, each.context) for each in schemas.as_list(body.inputs)]
    inputs = [OperationInput(pair, [pair]) for pair in pairs]
    results = await model.answer(Operation("answer_batch"), inputs, headers=response.headers)
    return [schemas.AnswerResponse.model_validate(each, from_attributes=True) for each in results]


def _text_or_pair(inputs: Any) -> str | tuple[str, str]:
    """A text, or a pair from a list of two."""
    if isinstance(inputs, str):
        return inputs
    return inputs[0] if len(inputs) == 1 else (inputs[0], inputs[1])


def _scorer(model: ServedModel) -> Scorer:
    """How a model with the route /predict scores texts."""
    return cast(Scorer, model.loaded.scorer)


def _scores(result: Any, labels: tuple[str, ...], raw: Callable[[float], float] | None) -> list[schemas.Score]:
    scores = {labels[0] if labels else "score": result} if isinstance(result, float) else result.probabilities
    if raw is not None:
        scores = {label: raw(score) for label, score in scores.items()}
    return [
        schemas.Score(label=label, score=score) for label, score in sorted(scores.items(), key=lambda each: -each[1])
    ]


def _tagged(example: Any, prediction: Any) -> dict[str, Any]:
    """The fields of `schemas.TaggedText`.

    Positions are in characters: of the text, or of the words of a list joined by spaces.
    """
    spans, entities = prediction.word_spans, prediction.entities
    if example.text is None:
        spans = _joined_spans(example.words)
        entities = [replace(each, start=spans[each.start][0], end=spans[each.end - 1][1]) for each in entities]
    words = [
        {"word": word, "start": start, "end": end, "label": label, "probability": probability}
        for word, (start, end), label, probability in zip(
            example.words, spans, prediction.labels, prediction.probabilities, strict=True
        )
    ]
    return {"words": words, "entities": [asdict(each) for each in entities]}


def _joined_spans(words: Sequence[str]) -> list[tuple[int, int]]:
    """Positions of words in the text that joins them by spaces."""
    ends = [end - 1 for end in accumulate(len(word) + 1 for word in words)]
    return [(end - len(word), end) for word, end in zip(words, ends, strict=True)]
