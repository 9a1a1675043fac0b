"""What a tokenizer must remember besides its vocabulary. Before: nothing. After: `tokenizer.py`, `training.py`."""

from litebert.settings import Settings


class TextSettings(Settings):
    """How raw text becomes what the vocabulary sees; stored in `tokenizer_config.json`."""

    lowercase: bool = True
    """Lower-case the text. Source: `do_lower_case` of the original."""

    keep_accents: bool = False
    """Leave combining marks and compatibility characters as they are instead of decomposing and dropping them."""

    digit_comma: bool = True
    """Re-split a piece that ends in a digit and a comma, as the original does; false gives plain SentencePiece."""
