"""Calling a tokenizer as those of transformers are called: padding, truncation, pairs, offsets, tensors."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, Self

import numpy as np

from litebert.errors import ConfigError, DataError
from litebert.tokenization.normalize import Span

if TYPE_CHECKING:
    from litebert.tokenization.tokenizer import Tokenizer

Padding = bool | Literal["longest", "max_length"]
TensorType = Literal["pt", "np"]
NO_SPAN: Final = (0, 0)
"""Offsets of special tokens and padding, as in transformers."""


class BatchEncoding(dict[str, Any]):
    """`input_ids`, `token_type_ids`, `attention_mask` and maybe `offset_mapping`; `model(**encoding)` reads it."""

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(f"the encoding has {', '.join(self)}, but no {name!r}")
        return self[name]

    def to(self, device: Any) -> Self:
        """The same tensors on a device of torch."""
        return type(self)({name: tensor.to(device) for name, tensor in self.items()})


def texts_and_pairs(
    text: str | Sequence[str] | Sequence[tuple[str, str]], text_pair: str | Sequence[str] | None
) -> tuple[list[str], list[str] | None]:
    """N first texts, and N second texts or None; DataError where a text is no string."""
    texts: list[Any] = [text] if isinstance(text, str) else list(text)
    second = [text_pair] if isinstance(text_pair, str) else text_pair
    pairs: list[Any] | None = None if second is None else list(second)
    if pairs is None and texts and all(isinstance(each, tuple | list) and len(each) == 2 for each in texts):
        texts, pairs = [first for first, _ in texts], [second for _, second in texts]
    for each in (*texts, *(pairs or ())):
        if not isinstance(each, str):
            raise DataError(f"tokenizer: found {each!r:.80} among the texts; give texts, or pairs of texts")
    return texts, pairs


def encode_rows(
    tokenizer: "Tokenizer", texts: Sequence[str], pairs: Sequence[str] | None, *, max_length: int | None, offsets: bool
) -> list[dict[str, list[Any]]]:
    """Ids, token types, mask and, if asked for, offsets of each text or pair, without padding."""
    if pairs is not None and len(pairs) != len(texts):
        raise DataError(f"text_pair: {len(pairs)} texts for {len(texts)} first texts; give as many")
    first = tokenizer.encode_batch_with_offsets(texts)
    second = [None] * len(texts) if pairs is None else tokenizer.encode_batch_with_offsets(pairs)
    return [_row(tokenizer, *each, max_length, offsets) for each in zip(first, second, strict=True)]


def _row(
    tokenizer: "Tokenizer", first: Any, second: Any, max_length: int | None, offsets: bool
) -> dict[str, list[Any]]:
    (ids, spans), (pair_ids, pair_spans) = first, second or (None, [])
    length = max_length or len(ids) + len(pair_ids or ()) + 3
    encoding = tokenizer.build_inputs(ids, pair_ids, max_length=length)
    row: dict[str, list[Any]] = {
        "input_ids": encoding.input_ids,
        "token_type_ids": encoding.token_type_ids,
        "attention_mask": [1] * len(encoding.input_ids),
    }
    if offsets:
        kept = encoding.input_ids.index(tokenizer.sep_id) - 1
        row["offset_mapping"] = [NO_SPAN, *spans[:kept], NO_SPAN]
        if pair_ids is not None:
            kept_pair = len(encoding.input_ids) - kept - 3
            row["offset_mapping"] += [*pair_spans[:kept_pair], NO_SPAN]
    return row


def padded(
    rows: Sequence[dict[str, list[Any]]], *, pad_id: int, padding: Padding, max_length: int | None
) -> dict[str, list[list[Any]]]:
    """Columns of the rows, padded at the end to the longest one, to `max_length`, or not at all."""
    if padding not in (True, False, "longest", "max_length"):
        raise ConfigError(f"padding: found {padding!r}; expected True, False, 'longest' or 'max_length'")
    if padding == "max_length" and max_length is None:
        raise ConfigError('padding: "max_length" needs max_length; give it, or padding=True')
    longest = max((len(row["input_ids"]) for row in rows), default=0)
    length = 0 if padding is False else max_length if padding == "max_length" and max_length else longest
    fill: dict[str, int | Span] = {"input_ids": pad_id, "offset_mapping": NO_SPAN}
    names = rows[0] if rows else ("input_ids", "token_type_ids", "attention_mask")
    return {name: [row[name] + [fill.get(name, 0)] * (length - len(row[name])) for row in rows] for name in names}


def tensors(columns: dict[str, list[list[Any]]], kind: TensorType) -> dict[str, Any]:
    """Int64 arrays [B, S], or [B, S, 2] of offsets; ConfigError for rows of different lengths."""
    if len({len(row) for row in columns["input_ids"]}) > 1:
        raise ConfigError("return_tensors: the texts have different lengths; add padding=True, truncation=True")
    arrays = {name: np.array(rows, np.int64) for name, rows in columns.items()}
    if kind == "np":
        return arrays
    if kind != "pt":
        raise ConfigError(f"return_tensors: found {kind!r}; expected 'pt' or 'np'")
    import torch

    return {name: torch.from_numpy(array) for name, array in arrays.items()}
