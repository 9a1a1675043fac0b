"""Bodies of requests and responses; FastAPI makes the OpenAPI document of them.

`/embed`, `/predict`, `/rerank`, `/similarity` and `/tokenize` have the fields of text-embeddings-inference,
`/v1/embeddings` and `/v1/models` those of the OpenAI client.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import PydanticCustomError

NOT_UNICODE: Final = "not_unicode"


def _is_unicode(text: str) -> str:
    """The text itself; an error for half of a surrogate pair, which JSON can escape but no response can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _not_unicode() from None
    return text


def _not_unicode() -> PydanticCustomError:
    return PydanticCustomError(NOT_UNICODE, "a text has a lone surrogate, which is not a character")


def one_of(accepted: str) -> WrapValidator:
    """Names what a union of types accepts, in place of the errors of each of its types."""

    def validate(value: Any, union: ValidatorFunctionWrapHandler) -> Any:
        try:
            return union(value)
        except ValidationError as error:
            if any(problem["type"] == NOT_UNICODE for problem in error.errors()):
                raise _not_unicode() from None
            raise PydanticCustomError("one_of", "expected {accepted}", {"accepted": accepted}) from None

    return WrapValidator(validate)


Text = Annotated[str, AfterValidator(_is_unicode)]
Texts = Annotated[list[Text], Field(min_length=1, fail_fast=True)]
TextOrTexts = Annotated[Text | Texts, one_of("a text, or a list of one or more texts")]
TextAndPair = Annotated[list[Text], Field(min_length=1, max_length=2, fail_fast=True)]
TokenIds = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1, fail_fast=True)]
TextsOrIds = Annotated[
    Text | TokenIds | Annotated[list[Text | TokenIds], Field(min_length=1, fail_fast=True)],
    one_of("a text, its token ids (a list of integers from 0), or a list of one or more of these"),
]


def as_list(inputs: Any) -> list[Any]:
    """The inputs of a field that accepts one or a list of several."""
    return inputs if isinstance(inputs, list) else [inputs]


class Body(BaseModel):
    """Base of request bodies: no unknown fields, no conversion of types."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class Reply(BaseModel):
    """Base of response bodies."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class ModelBody(Body):
    """Base of the bodies of requests to a model."""

    model: str | None = None
    """Name of the model; by default the first one that has the route."""


class TruncatedBody(ModelBody):
    """Base of the bodies of routes that read as many tokens as the model does."""

    truncate: bool | None = None
    """Read only the beginning of a text that is too long, instead of an error."""
    truncation_direction: Literal["Right", "right"] = "Right"
    """Which end of the text is left out."""


class EmbedRequest(TruncatedBody):
    """Texts to embed."""

    inputs: TextsOrIds
    normalize: bool = True
    """Scale vectors to length 1."""
    dimensions: Annotated[int, Field(gt=0, le=65536)] | None = None
    """Keep only the first dimensions."""
    pooling: Literal["mean", "cls"] | None = None
    """Mean of all tokens, or the first token; by default that of the model."""
    prompt_name: None = None


class OpenAIEmbeddingsRequest(Body):
    """The request of the OpenAI client."""

    input: TextsOrIds
    model: str
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Annotated[int, Field(gt=0, le=65536)] | None = None
    user: str | None = None


class OpenAIEmbedding(Reply):
    """One vector."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str
    """Numbers, or little-endian float32 in base64."""


class OpenAIUsage(Reply):
    """Tokens of a request."""

    prompt_tokens: int
    total_tokens: int


class OpenAIEmbeddings(Reply):
    """The response of the OpenAI client."""

    object: Literal["list"] = "list"
    data: list[OpenAIEmbedding]
    model: str
    usage: OpenAIUsage


class OpenAIModel(Reply):
    """One model."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: Literal["litebert"] = "litebert"


class OpenAIModels(Reply):
    """The models of the server."""

    object: Literal["list"] = "list"
    data: list[OpenAIModel]


class SimilarityInputs(Body):
    """One sentence and those to compare it with."""

    source_sentence: Text
    sentences: Texts


class SimilarityParameters(Body):
    """Where text-embeddings-inference has the fields of `TruncatedBody` for this route."""

    truncate: bool | None = None
    truncation_direction: Literal["Right", "right"] = "Right"
    prompt_name: None = None


class SimilarityRequest(TruncatedBody):
    """Sentences to compare."""

    inputs: SimilarityInputs
    parameters: SimilarityParameters | None = None


class PredictParameters(Body):
    """What `InferenceClient.text_classification` of huggingface_hub sends."""

    top_k: Annotated[int, Field(ge=1)] | None = None
    """Only the best labels, this many."""
    function_to_apply: Literal["softmax", "sigmoid", "none"] | None = None
    """That of the model, no other: `softmax`, for multi-label models `sigmoid`, for regression `none`."""


class PredictRequest(TruncatedBody):
    """A text, a pair `[text, pair]`, or a list of `[text]` and `[text, pair]`, which is a batch."""

    inputs: Annotated[
        Text | TextAndPair | Annotated[list[TextAndPair], Field(min_length=1, fail_fast=True)],
        one_of("a text, a pair [text, pair], or a list of one or more [text] and [text, pair]"),
    ]
    raw_scores: bool = False
    """Logarithms of the probabilities; log odds for multi-label models."""
    parameters: PredictParameters | None = None
    """With it the response is a list of results, for one text or pair too, as `InferenceClient` expects it."""


class Score(Reply):
    """A label with its probability, or the value of a regression model."""

    label: str
    score: float


class RerankRequest(TruncatedBody):
    """A query and the texts to order by relevance."""

    query: Text
    texts: Texts
    return_text: bool = False
    raw_scores: bool = False
    """Log odds instead of probabilities."""


class Rank(Reply):
    """One text with its relevance."""

    index: int
    """Position in the request."""
    score: float
    text: str | None = None


class MultipleChoiceRequest(TruncatedBody):
    """A text, an optional question about it, and the options."""

    text: Text
    question: Text | None = None
    options: Annotated[list[Text], Field(min_length=2, max_length=26, fail_fast=True)]


class ChoiceResponse(Reply):
    """The best option."""

    index: int
    letter: str
    probability: float
    probabilities: list[float]


class FillMaskRequest(ModelBody):
    """Texts with `[MASK]` in place of words."""

    inputs: TextOrTexts
    top_k: Annotated[int, Field(ge=1, le=1000)] = 5
    """Candidates for each mask."""


class MaskCandidate(Reply):
    """One token for a mask."""

    piece: str
    """The token in the vocabulary."""
    word: str
    probability: float


class TokenClassificationRequest(ModelBody):
    """A text, a list of texts, or a list of lists of words."""

    inputs: Annotated[
        Text | Texts | Annotated[list[Texts], Field(min_length=1, fail_fast=True)],
        one_of("a text, or a list of one or more texts, or of one or more lists of one or more words"),
    ]


class LabelledWord(Reply):
    """A word with its label; positions are characters of the text, or of the words joined by spaces."""

    word: str
    start: int
    end: int
    label: str
    probability: float


class LabelledEntity(Reply):
    """Words that are one entity; positions as those of a word."""

    label: str
    text: str
    start: int
    end: int
    probability: float
    """The mean of those of its words."""


class TaggedText(Reply):
    """The words and the entities of one text."""

    words: list[LabelledWord]
    entities: list[LabelledEntity]


class QuestionInputs(Body):
    """A question about a text."""

    question: Text
    context: Text


class QuestionAnsweringRequest(ModelBody):
    """One question or several."""

    inputs: Annotated[
        QuestionInputs | Annotated[list[QuestionInputs], Field(min_length=1, fail_fast=True)],
        one_of('an object with the texts "question" and "context", or a list of one or more of these'),
    ]


class AnswerResponse(Reply):
    """The answer to a question; `text` is empty where the context has none."""

    text: str
    start: int
    """Its first character in the context."""
    end: int
    """The character after its last."""
    probability: float
    no_answer_probability: float | None
    """Null for models that always answer."""


class TokenizeRequest(ModelBody):
    """Texts to tokenize."""

    inputs: TextOrTexts
    add_special_tokens: bool = True


class TokenInText(Reply):
    """One token; special tokens have no position."""

    id: int
    text: str
    special: bool
    start: int | None
    stop: int | None
