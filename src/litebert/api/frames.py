"""Data frames of results. The only file that imports pandas."""

from collections.abc import Mapping, Sequence
from typing import Any

from litebert.errors import MissingExtraError


def data_frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A `pandas.DataFrame`; MissingExtraError without pandas."""
    try:
        import pandas  # pyrefly: ignore[missing-import]
    except ImportError:
        raise MissingExtraError("pandas", extra="pandas", needed_for="to_pandas()") from None
    return pandas.DataFrame(list(rows))
