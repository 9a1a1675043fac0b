"""Settings of a tokenizer besides its vocabulary."""

from litebert.settings import Settings


class TextSettings(Settings):
    """Text normalization and segmentation; stored in `tokenizer_config.json`."""

    lowercase: bool = True
    """Lower-case the text. Source: `do_lower_case` of google-research/albert."""

    keep_accents: bool = False
    """Keep combining marks and compatibility characters instead of decomposing (NFKD) and dropping them."""

    digit_comma: bool = True
    """Re-split a piece that ends in a digit and a comma, as google-research/albert; false: plain SentencePiece."""
