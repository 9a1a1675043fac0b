"""Settings of a tokenizer besides its vocabulary; apart from `normalize.py`, which imports no pydantic."""

from litebert.settings import Settings
from litebert.tokenization.normalize import normalize


class TextSettings(Settings):
    """Text normalization and segmentation; stored in `tokenizer_config.json`."""

    lowercase: bool = True
    """Lower-case the text. Source: `do_lower_case` of google-research/albert."""

    keep_accents: bool = False
    """Keep combining marks instead of decomposing the text (NFKD) and dropping them; for text that is not English.
    SentencePiece's own NFKC still replaces compatibility characters, such as ligatures and fractions."""

    digit_comma: bool = True
    """Re-split a piece that ends in a digit and a comma, as google-research/albert; false: plain SentencePiece."""

    def normalize(self, text: str) -> str:
        """The text, normalized."""
        return normalize(text, lowercase=self.lowercase, keep_accents=self.keep_accents)
