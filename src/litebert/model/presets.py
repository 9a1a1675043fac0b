"""Named architectures, each with its source. Torch-free.

Paper: Lan et al., ICLR 2020. Release: the configurations of google-research/albert and of its model cards.
"""

from pathlib import Path
from typing import Any, Final, NamedTuple

from litebert.errors import ConfigError, suggestion
from litebert.model.config import ModelConfig


class Preset(NamedTuple):
    """An architecture and the source of its numbers."""

    source: str
    config: ModelConfig


def preset(name: str) -> ModelConfig:
    """The architecture of that name; `PRESETS` lists all."""
    if name not in PRESETS:
        raise ConfigError(f"preset: no architecture is named {name!r}; {suggestion(name, PRESETS)}")
    return PRESETS[name].config


def preset_named(model: str) -> ModelConfig | None:
    """The architecture that a setting `model` names; None for another name, and for a path that exists."""
    return preset(model) if model in PRESETS and not Path(model).exists() else None


def _row(source: str, layers: int, hidden: int, heads: int, **others: Any) -> Preset:
    sizes = {"num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads}
    values: dict[str, Any] = {"intermediate_size": 4 * hidden, **sizes, **others}
    return Preset(source, ModelConfig(**values))


_DROPOUT: Final = {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}
_BERT: Final = {**_DROPOUT, "sharing": "none"}
_CHINESE: Final = {"vocab_size": 21_128, "hidden_act": "relu"}
_MODERN: Final = {
    "position_embedding": "rotary",
    "norm_first": True,
    "gated_feed_forward": True,
    "use_bias": False,
    "hidden_act": "gelu",
}
_MODERN_SOURCE = (
    "litebert, not the paper: block of ModernBERT (arXiv 2412.13663), shared as in ModernALBERT (2512.12880)"
)
_V1 = "release v1; the paper's 125k-step models. Its code computes tanh GELU though its config says 'gelu'"
_V2 = "release v2: no dropout (authors, google-research/albert#23; the first published configs said 0.1 by mistake)"
_ZH = "release for Chinese"
_ZH_16_HEADS = "release for Chinese; 16 heads 'perform better' (google-research/albert#153)"

PRESETS: Final[dict[str, Preset]] = {
    "albert-base-v1": _row(_V1, 12, 768, 12, **_DROPOUT),
    "albert-large-v1": _row(_V1, 24, 1024, 16, **_DROPOUT),
    "albert-xlarge-v1": _row(_V1 + "; 16 heads (google-research/albert#180)", 24, 2048, 16, **_DROPOUT),
    "albert-xxlarge-v1": _row("release v1: 1.5M steps without dropout, tables 9 and 10", 12, 4096, 64),
    "albert-base-v2": _row(_V2, 12, 768, 12),
    "albert-large-v2": _row(_V2, 24, 1024, 16),
    "albert-xlarge-v2": _row(_V2 + "; 16 heads", 24, 2048, 16),
    "albert-xxlarge-v2": _row(_V2, 12, 4096, 64),
    "paper-xlarge": _row("paper, table 1 and section 3.1: heads = H / 64", 24, 2048, 32, **_DROPOUT),
    "paper-xxlarge": _row("paper, tables 1 and 6: with dropout, before table 8 removed it", 12, 4096, 64, **_DROPOUT),
    "paper-xxlarge-24": _row("paper, table 13: 24 layers", 24, 4096, 64, **_DROPOUT),
    "bert-base": _row("paper, table 1, with ALBERT's vocabulary", 12, 768, 12, embedding_size=768, **_BERT),
    "bert-large": _row("paper, table 1, with ALBERT's vocabulary", 24, 1024, 16, embedding_size=1024, **_BERT),
    "albert-chinese-base": _row(_ZH, 12, 768, 12, **_CHINESE),
    "albert-chinese-large": _row(_ZH, 24, 1024, 16, **_CHINESE),
    "albert-chinese-xlarge": _row(_ZH, 24, 2048, 16, initializer_range=0.014, **_CHINESE),
    "albert-chinese-xxlarge": _row(_ZH_16_HEADS, 12, 4096, 16, initializer_range=0.01, **_CHINESE),
    "tiny": _row("litebert: trains in minutes on one CPU", 4, 256, 4),
    "small": _row("litebert: trains in hours on one CPU", 6, 512, 8),
    "modern-tiny": _row(_MODERN_SOURCE, 6, 256, 4, intermediate_size=672, **_MODERN),
    "modern-small": _row(_MODERN_SOURCE, 8, 384, 6, intermediate_size=1024, **_MODERN),
}
