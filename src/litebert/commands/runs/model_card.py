"""Model cards: the README of a model directory, with the front matter of the Hugging Face hub."""

from collections.abc import Mapping
from typing import Any, Final

from huggingface_hub import ModelCardData
from torch import nn

from litebert import __version__
from litebert.commands.runs.card_settings import CardSettings
from litebert.model.io.model_directory import spec_of
from litebert.model.io.model_spec import auto_class, transformers_incompatibility
from litebert.tasks.metrics.text_table import markdown_table

_REMOTE_CODE_USE: Final = """\
```python
from transformers import {auto_class}, AutoTokenizer

model = {auto_class}.from_pretrained(".", trust_remote_code=True)
tokenizer = AutoTokenizer.from_pretrained(".", trust_remote_code=True)
```"""
"""The tokenizer too: `AutoTokenizer` reads the type of the model from `config.json`."""


def model_card(
    model: nn.Module,
    *,
    title: str,
    task: str,
    summary: str,
    use: str,
    scores: Mapping[str, Any],
    settings: Mapping[str, Any],
    card: CardSettings,
) -> str:
    """Markdown with front matter for the hub.

    Args:
        model: the model of the directory; decides what the card says about transformers.
        title: heading.
        task: pipeline tag, such as `fill-mask` or `text-classification`.
        summary: description of the model.
        use: example code.
        scores: metric → value, shown as a table.
        settings: training configuration, shown as a table.
        card: licence and languages, for the front matter, and intended uses.
    """
    data = ModelCardData(
        license=card.license,
        language=list(card.language) or None,
        library_name="litebert",
        pipeline_tag=task,
        tags=["albert", "litebert"],
    )
    parts = [
        f"---\n{data.to_yaml()}\n---",
        f"# {title}",
        summary,
        *([f"## Intended uses and limitations\n\n{card.intended_uses.strip()}"] if card.intended_uses else []),
        f"## How to use\n\n```python\n{use}\n```",
        _transformers_note(model),
        "## Evaluation\n\n" + _table("metric", scores),
        "## Training configuration\n\n" + _table("setting", {"litebert": __version__, **settings}),
    ]
    return "\n\n".join(parts) + "\n"


def _transformers_note(model: nn.Module) -> str:
    spec = spec_of(model)
    reason = transformers_incompatibility(spec)
    if reason is None:
        return "transformers loads the model directory too (`AutoModel.from_pretrained`)."
    code = _REMOTE_CODE_USE.format(auto_class=auto_class(spec.model))
    return f"transformers loads model and tokenizer with `trust_remote_code=True`: {reason}.\n\n{code}"


def _table(header: str, rows: Mapping[str, Any]) -> str:
    values = ([name, f"{value:.4g}" if isinstance(value, float) else str(value)] for name, value in rows.items())
    return markdown_table([[header, "value"], *values])
