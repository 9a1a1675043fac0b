"""Reads `tokenizer.json` in place of the vocabulary file, which transformers 5 does not save.

The vocabulary is taken from it, and what litebert would write for that vocabulary is compared with what is there: only
where the steps are the same are the ids those of the original. Everything else is refused.

The fingerprint is that of the original if litebert trained it with the default `character_coverage`. Others record
settings of their training that `tokenizer.json` lacks; they have no effect on ids (`Tokenizer.has_ids_of`).
"""

import base64
import json
import struct
import textwrap
from collections.abc import Collection, Sequence
from itertools import zip_longest
from math import isclose
from typing import Annotated, Any, Final, NoReturn

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from litebert.errors import DataError
from litebert.tokenization.sentencepiece_model import SentencePieceModel
from litebert.tokenization.sentencepiece_proto import ModelFile, ScoredPiece, serialize_model
from litebert.tokenization.text_settings import TextSettings
from litebert.tokenization.transformers_files import NEVER_PENALTY, user_defined_score
from litebert.tokenization.wordpiece_model import WordPieceModel

_ALBERT_PENALTY: Final = 100.0
"""What transformers subtracts where litebert subtracts `NEVER_PENALTY`. Source: `AlbertConverter` of transformers."""
_LEAST_SCORE: Final = -50.0
"""Less than the logarithm of the probability of any piece; only scores with a penalty are below it."""
_SCORE_TOLERANCE: Final = 1e-11
"""Scores are floats of 32 bits; the library tokenizers reads their decimals with errors of 1e-13."""
_QUOTES: Final = ("``", "''")
"""AlbertTokenizer of transformers replaces them by `"`; neither google-research/albert nor litebert do."""
_NO_EFFECT: Final = ({"type": "WhitespaceSplit"}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})
"""Steps of AlbertTokenizer that collapse spaces, which litebert does too."""

Score = Annotated[float, Field(gt=-1e6, lt=1e6)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="allow")


class _Step(_Section):
    """A normalizer, pre-tokenizer or post-processor, or a sequence of them."""

    type: str
    normalizers: list[dict[str, Any]] = []
    pretokenizers: list[dict[str, Any]] = []


class _Vocabulary(_Section):
    type: str
    vocab: list[tuple[str, Score]] | dict[str, int]


class _AddedToken(_Section):
    id: int
    content: str


class _TokenizerJson(_Section):
    model: _Vocabulary
    added_tokens: list[_AddedToken]
    normalizer: _Step | None
    pre_tokenizer: _Step | None
    post_processor: _Step | None


def read_tokenizer_json(content: bytes, settings: TextSettings, *, where: str) -> SentencePieceModel | WordPieceModel:
    """The vocabulary in a `tokenizer.json`, which gives every text the ids that the saved tokenizer gave it.

    Args:
        content: of the file.
        settings: in the `tokenizer_config.json` beside it.
        where: begins the message of the DataError if litebert cannot give the ids of the original.
    """
    try:
        found = _TokenizerJson.model_validate_json(content)
    except ValidationError:
        raise DataError(f"{where}: not a file of the library tokenizers, or a damaged one; take a fresh copy") from None
    vocabulary = found.model.vocab
    model: SentencePieceModel | WordPieceModel
    if found.model.type == "Unigram" and isinstance(vocabulary, list):
        pieces = _scored_pieces(found, vocabulary, where=where)
        model = SentencePieceModel(_serialized(found, pieces, where=where), settings, where=where)
        _validate_added_tokens(found, model, {piece.piece for piece in pieces if not piece.is_normal}, where=where)
    elif found.model.type == "WordPiece" and isinstance(vocabulary, dict):
        lines = [f"{piece}\n" for piece in sorted(vocabulary, key=vocabulary.__getitem__)]
        model = WordPieceModel("".join(lines).encode(), settings, where=where)
        if dict(zip(model.vocabulary, range(len(model.vocabulary)))) != vocabulary:
            _refuse(where, "its vocabulary cannot be written as lines: ids are missing, or a piece has a line break")
        _validate_added_tokens(found, model, model.specials.values(), where=where)
    else:
        _refuse(where, f"a tokenizer of type {found.model.type}, expected Unigram or WordPiece, as all of ALBERT's are")
    _validate_steps(found, model, where=where)
    return model


def _scored_pieces(
    found: _TokenizerJson, vocabulary: Sequence[tuple[str, float]], *, where: str
) -> tuple[ScoredPiece, ...]:
    """The pieces of the SentencePiece model with their scores there."""
    specials = SentencePieceModel.specials.values()
    scores = {piece: _without_penalty(piece, score) for piece, score in vocabulary}
    if missing := [piece for piece in specials if piece not in scores]:
        _refuse(where, f"has no piece {missing[0]!r}, which every ALBERT vocabulary needs")
    best = max((score for piece, score in scores.items() if score and piece not in specials), default=0.0)
    zero_is_user_defined = _is_of_albert_tokenizer(found)

    def scored(piece: str) -> ScoredPiece:
        score = scores[piece]
        if piece in specials or score == 0:
            is_user_defined = zero_is_user_defined and piece not in specials
            return ScoredPiece(piece, 0.0, is_normal=False, is_user_defined=is_user_defined)
        if isclose(score, user_defined_score(piece, best), rel_tol=0, abs_tol=_SCORE_TOLERANCE):
            return ScoredPiece(piece, 0.0, is_normal=False, is_user_defined=True)
        (stored,) = struct.unpack("<f", struct.pack("<f", score))
        if not isclose(score, stored, rel_tol=0, abs_tol=_SCORE_TOLERANCE):
            _refuse(where, f"the score {score} of the piece {piece!r} is not that of its SentencePiece model")
        return ScoredPiece(piece, stored, is_normal=True, is_user_defined=False)

    return tuple(scored(piece) for piece, _ in vocabulary)


def _without_penalty(piece: str, score: float) -> float:
    """The score without what is subtracted from it for the digit-comma rule."""
    if score > _LEAST_SCORE or not (piece.endswith(",") and piece[-2:-1].isdigit()):
        return score
    return score + (_ALBERT_PENALTY if score > _LEAST_SCORE - _ALBERT_PENALTY else NEVER_PENALTY)


def _serialized(found: _TokenizerJson, pieces: tuple[ScoredPiece, ...], *, where: str) -> bytes:
    steps = found.normalizer.normalizers if found.normalizer else []
    encoded = "".join(str(step.get("precompiled_charsmap")) for step in steps if step.get("type") == "Precompiled")
    try:
        charsmap = base64.b64decode(encoded, validate=True)
    except ValueError:
        raise DataError(f"{where}: its precompiled_charsmap is damaged; take a fresh copy") from None
    specials = SentencePieceModel.specials
    return serialize_model(ModelFile(pieces, charsmap), unk=specials["unk"], pad=specials["pad"])


def _validate_added_tokens(
    found: _TokenizerJson, model: SentencePieceModel | WordPieceModel, split_off: Collection[str], *, where: str
) -> None:
    """Every token that transformers splits off a text first must be in the vocabulary, and in `split_off`."""
    ids = {piece: index for index, piece in enumerate(model.vocabulary)}
    for token in found.added_tokens:
        if ids.get(token.content) != token.id or token.content not in split_off:
            _refuse(where, f"the token {token.content!r} was added to the vocabulary, which litebert does not support")


def _validate_steps(found: _TokenizerJson, model: SentencePieceModel | WordPieceModel, *, where: str) -> None:
    """The steps must be those that litebert writes, or those of transformers' AlbertTokenizer."""
    written = _TokenizerJson.model_validate(model.transformers_tokenizer())
    expected = {
        "normalizer": _steps(written.normalizer),
        "pre_tokenizer": _steps(written.pre_tokenizer),
        "post_processor": _steps(written.post_processor),
    }
    if _is_of_albert_tokenizer(found):
        expected["normalizer"] = _albert_normalizers(model.settings, written)
    else:
        _validate_scores(found, written, where=where, settings=model.settings)
    for name, steps in expected.items():
        for one, other in zip_longest(_steps(getattr(found, name)), steps):
            if one != other:
                _refuse(where, f"{name}: found {_short(one)}, expected {_short(other)} with {model.settings}")
    for name, value in (written.model.model_extra or {}).items():
        if getattr(found.model, name, value) != value:
            _refuse(where, f"{name}: {getattr(found.model, name)}, expected {value}")


def _validate_scores(found: _TokenizerJson, written: _TokenizerJson, *, where: str, settings: TextSettings) -> None:
    """The scores must be those of the digit-comma rule if the settings have it, and only then."""
    expected = dict(written.model.vocab)
    for piece, score in dict(found.model.vocab).items():
        if not isclose(score, expected[piece], rel_tol=0, abs_tol=_SCORE_TOLERANCE):
            _refuse(where, f"the piece {piece!r} has the score {score}, expected {expected[piece]} with {settings}")


def _is_of_albert_tokenizer(found: _TokenizerJson) -> bool:
    """Whether the class AlbertTokenizer of transformers made the file, instead of litebert."""
    steps = found.normalizer.normalizers if found.normalizer else []
    return bool(steps) and steps[0].get("pattern") == {"String": _QUOTES[0]}


def _albert_normalizers(settings: TextSettings, written: _TokenizerJson) -> list[dict[str, Any]]:
    """The normalizers of AlbertTokenizer; litebert's have the same precompiled table."""
    return [
        *({"type": "Replace", "pattern": {"String": quotes}, "content": '"'} for quotes in _QUOTES),
        *([] if settings.keep_accents else [{"type": "NFKD"}, {"type": "StripAccents"}]),
        *([{"type": "Lowercase"}] if settings.lowercase else []),
        *(step for step in _steps(written.normalizer) if step["type"] == "Precompiled"),
    ]


def _steps(section: _Step | None) -> list[dict[str, Any]]:
    """The steps of a sequence, or the only one, without what has no effect on ids."""
    if section is None:
        return []
    steps = section.normalizers or section.pretokenizers or [section.model_dump(exclude_unset=True)]
    return [_comparable(step) for step in steps if step not in _NO_EFFECT]


def _comparable(step: dict[str, Any]) -> dict[str, Any]:
    """A step without what may differ: spaces before a text, and characters that another version of Unicode has."""
    ignored = {"strip_left"}
    if step.get("prepend_scheme") in ("always", "first"):  # litebert wrote "always" before 2026-11-28
        ignored.add("prepend_scheme")
    pattern = step.get("pattern")
    if isinstance(pattern, dict) and str(pattern.get("Regex")).startswith(r"[\x{"):  # a class of characters
        ignored.add("pattern")
    return {key: value for key, value in step.items() if key not in ignored}


def _short(step: dict[str, Any] | None) -> str:
    return "nothing" if step is None else textwrap.shorten(json.dumps(step), 100, placeholder=" …")


def _refuse(where: str, problem: str) -> NoReturn:
    raise DataError(
        f"{where}: {problem}; put spiece.model or vocab.txt of the original model beside it, "
        "or `litebert convert DIRECTORY OUT --to litebert --tokenizer ORIGINAL`"
    )
