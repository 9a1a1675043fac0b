"""Texts with masks → sequences, and probabilities of the vocabulary → words. Importing it loads no torch."""

from typing import Final

import numpy as np

from litebert.errors import DataError
from litebert.tasks.encoded import Feature
from litebert.tasks.results import Candidate, FilledMasks
from litebert.tokenization.tokenizer import Tokenizer

MASK: Final = "[MASK]"
DEFAULT_TOP_K: Final = 5


def masked_feature(text: str, tokenizer: Tokenizer, *, max_length: int) -> Feature:
    """`[CLS] text [SEP]` with the mask token for every "[MASK]", which the tokenizer never makes from text.

    Raises DataError for a text without a mask, or with more than `max_length` tokens.
    """
    parts = text.split(MASK)
    first, *others = tokenizer.encode_batch(parts)
    ids = [tokenizer.cls_id, *first]
    for part, part_ids in zip(parts[1:], others, strict=True):
        ids += [tokenizer.mask_id, *without_added_space(part, part_ids, tokenizer)]
    ids.append(tokenizer.sep_id)
    if not others:
        raise DataError(f"{text[:60]!r}: has no {MASK}; write {MASK} where the model should fill in a word")
    if len(ids) > max_length:
        raise DataError(f"{text[:60]!r}…: {len(ids)} tokens, the model reads {max_length}; shorten the text")
    return Feature(np.array(ids, np.int32), np.zeros(len(ids), np.int8))


def filled_masks(probabilities: np.ndarray, tokenizer: Tokenizer, *, top_k: int) -> FilledMasks:
    """The `top_k` most probable pieces of each row of `probabilities` [P, V], one row for each mask.

    V is that of the tokenizer: a model may have more tokens, such as padding of its vocabulary, which have no piece.
    """
    best = np.argsort(-probabilities, axis=-1, kind="stable")[:, :top_k]
    return FilledMasks(
        tuple(
            tuple(Candidate(tokenizer.id_to_piece(piece), float(row[piece])) for piece in pieces)
            for row, pieces in zip(probabilities, best, strict=True)
        )
    )


def without_added_space(text: str, ids: list[int], tokenizer: Tokenizer) -> list[int]:
    """Ids of a text directly after a mask, as in "[MASK].", without the space that the tokenizer adds."""
    follows_directly = bool(text) and not text[0].isspace()
    return ids[1:] if follows_directly and ids and tokenizer.id_to_piece(ids[0]) == "▁" else ids
