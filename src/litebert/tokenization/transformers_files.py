"""Content of the files with which transformers produces the same ids.

The normalizer consists of patterns from Python's Unicode tables, so that it drops exactly what `normalize.py` drops.
The digit-comma rule is expressed by scores so low that a piece that it would split is never chosen;
docs/reference/tokenizer.md lists the differences.
"""

from __future__ import annotations

import base64
import functools
import itertools
import sys
import unicodedata
from collections.abc import Callable, Collection, Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from litebert.tokenization.sentencepiece_proto import ModelFile, ScoredPiece
from litebert.tokenization.word_starts import SPACE

if TYPE_CHECKING:
    from litebert.tokenization.text_settings import TextSettings


TOKENIZER_FILE = "tokenizer.json"
CONFIG_FILE = "tokenizer_config.json"

NEVER_PENALTY = 1000.0
"""Subtracted from the score of a piece that must never be chosen: more than any split of at most 16 characters costs.

Unlike a score that is made up it leaves the score of the piece known, so that `tokenizer_json.py` can read it again.
"""

_SETTING_NAMES = {"lowercase": "do_lower_case", "keep_accents": "keep_accents", "digit_comma": "digit_comma_rule"}
"""Setting → key of `tokenizer_config.json`; transformers' key where it has one."""


def tokenizer_config(settings: TextSettings, specials: Mapping[str, str], *, max_length: int) -> dict[str, Any]:
    """Content of `tokenizer_config.json`: the settings, and what transformers needs beside `tokenizer.json`.

    `max_length` is the number of tokens to which transformers and transformers.js truncate.
    """
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        "model_max_length": max_length,
        "clean_up_tokenization_spaces": False,
        **{name: getattr(settings, field) for field, name in _SETTING_NAMES.items()},
        **{f"{role}_token": piece for role, piece in specials.items()},
    }


def text_settings(config: Mapping[str, Any], *, where: str) -> TextSettings:
    """The settings in a `tokenizer_config.json`; defaults for missing keys."""
    from litebert.tokenization.text_settings import TextSettings

    given = {field: config[name] for field, name in _SETTING_NAMES.items() if name in config}
    return TextSettings.parse(given, where=where)


def unigram_tokenizer(
    model: ModelFile, settings: TextSettings, specials: Mapping[str, str], *, never: Collection[str]
) -> dict[str, Any]:
    """Content of `tokenizer.json` for a SentencePiece model that must not use the pieces in `never`."""
    scores = _scores(model, never)
    vocabulary = [[piece.piece, score] for piece, score in zip(model.pieces, scores, strict=True)]
    ids = {piece.piece: index for index, piece in enumerate(model.pieces)}
    # After a special token a ▁ is put only where the text has a space: none before the full stop of "[MASK].".
    metaspace = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "first", "split": True}
    return pipeline(
        ids,
        specials,
        normalizer={"type": "Sequence", "normalizers": _normalizers(settings, model.charsmap)},
        pre_tokenizer=metaspace,
        decoder=metaspace,
        model={"type": "Unigram", "unk_id": ids[specials["unk"]], "vocab": vocabulary, "byte_fallback": False},
    )


def pipeline(ids: Mapping[str, int], specials: Mapping[str, str], **steps: dict[str, Any]) -> dict[str, Any]:
    """Content of `tokenizer.json`: the given steps, with ALBERT's special tokens and pairs."""
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": sorted((_added_token(ids[piece], piece) for piece in specials.values()), key=itemgetter("id")),
        "post_processor": _template(specials["cls"], specials["sep"], ids),
        **steps,
    }


def _scores(model: ModelFile, never: Collection[str]) -> list[float]:
    """Scores as in SentencePiece's Viterbi search: a user-defined piece scores above any other split of its characters.

    A piece in `never` scores below the split into its single characters.
    """
    best = max(piece.score for piece in model.pieces if piece.is_normal)

    def score(piece: ScoredPiece) -> float:
        score = user_defined_score(piece.piece, best) if piece.is_user_defined else piece.score
        return score - NEVER_PENALTY if piece.piece in never else score

    return [score(piece) for piece in model.pieces]


def user_defined_score(piece: str, best: float) -> float:
    """The score of a user-defined piece, where `best` is the greatest of all others."""
    return len(piece.encode()) * best - 0.1


def _normalizers(settings: TextSettings, charsmap: bytes) -> list[dict[str, Any]]:
    """`normalize`, then SentencePiece's normalizer."""
    steps: list[dict[str, Any]] = [_replace(_class_of(str.isspace) + "+", " "), _STRIP]
    if not settings.keep_accents:
        steps += [{"type": "NFKD"}, _replace(_class_of(unicodedata.combining), "")]
    if settings.lowercase:
        steps += [_replace(_FINAL_SIGMA, "ς"), {"type": "Lowercase"}]
    if charsmap:
        # SentencePiece's table composes decomposed Korean syllables, but transformers applies it letter by letter.
        steps += [] if settings.keep_accents else [{"type": "NFC"}]
        steps.append({"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()})
    return [*steps, _replace(f"[ {SPACE}]+", " "), _STRIP]


_STRIP = {"type": "Strip", "strip_left": False, "strip_right": True}
"""A space on the left is kept: it becomes the ▁ of the first word, also after a mask."""

_FINAL_SIGMA = r"(?<=\p{L})Σ(?!\p{L})"
"""Python lower-cases in context, transformers character by character; this is the only letter with a difference."""


def _replace(pattern: str, content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


@functools.cache
def _class_of(predicate: Callable[[str], object]) -> str:
    """A regular expression for one character that satisfies a predicate."""
    codes = [code for code in range(sys.maxunicode + 1) if predicate(chr(code))]
    runs = [list(run) for _, run in itertools.groupby(enumerate(codes), key=lambda item: item[1] - item[0])]
    return "[" + "".join(rf"\x{{{run[0][1]:x}}}-\x{{{run[-1][1]:x}}}" for run in runs) + "]"


def _added_token(index: int, piece: str) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": piece == "[MASK]", "rstrip": False, "normalized": False, "special": True}
    return {"id": index, "content": piece, **flags}


def _template(cls: str, sep: str, ids: Mapping[str, int]) -> dict[str, Any]:
    """`[CLS] A [SEP] B [SEP]` with token types 0 up to the first `[SEP]` and 1 after it."""
    steps = [("SpecialToken", cls, 0), ("Sequence", "A", 0), ("SpecialToken", sep, 0)]
    steps += [("Sequence", "B", 1), ("SpecialToken", sep, 1)]
    pair = [{kind: {"id": name, "type_id": segment}} for kind, name, segment in steps]
    return {
        "type": "TemplateProcessing",
        "single": pair[:3],
        "pair": pair,
        "special_tokens": {piece: {"id": piece, "ids": [ids[piece]], "tokens": [piece]} for piece in (cls, sep)},
    }
