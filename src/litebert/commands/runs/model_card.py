"""Model cards: the README of a model directory, with the front matter of the Hugging Face hub."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from huggingface_hub import EvalResult, ModelCardData
from torch import nn

from litebert import __version__
from litebert.commands.runs.card_settings import CardSettings
from litebert.files import model_name, path_of
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
_HUB_NAME: Final = re.compile(r"\w[\w.-]*/[\w.-]+")


@dataclass(frozen=True, kw_only=True)
class HubMetadata:
    """What the hub reads about a model in the front matter of its card, besides what its author says."""

    task: str
    """Pipeline tag, such as `fill-mask` or `text-classification`."""
    base_model: str | None = None
    """Name on the hub of the model that the run started from."""
    datasets: tuple[str, ...] = ()
    """Names of the training data on the hub."""
    name: str = ""
    """Name of the model beside its `results`."""
    results: tuple[EvalResult, ...] = ()
    """Scores on the development examples."""


def model_card(
    model: nn.Module,
    *,
    title: str,
    hub: HubMetadata,
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
        hub: for the front matter: task, origin and scores.
        summary: description of the model.
        use: example code.
        scores: metric → value, shown as a table.
        settings: training configuration, shown as a table.
        card: licence and languages, for the front matter, and intended uses.
    """
    parts = [
        f"---\n{_front_matter(hub, card).to_yaml()}\n---",
        f"# {title}",
        summary,
        *([f"## Intended uses and limitations\n\n{card.intended_uses.strip()}"] if card.intended_uses else []),
        f"## How to use\n\n```python\n{use}\n```",
        _transformers_note(model),
        "## Evaluation\n\n" + _table("metric", scores),
        "## Training configuration\n\n" + _table("setting", {"litebert": __version__, **settings}),
    ]
    return "\n\n".join(parts) + "\n"


def name_in_card(source: str) -> str:
    """The start model of a run as a card names it: its name on the hub, or that of its directory without the path."""
    return hub_name(source) or model_name(source)


def hub_name(source: str) -> str | None:
    """`source` if it is the name of a model on the hub, and not a place on this machine."""
    return source if _HUB_NAME.fullmatch(source) and not path_of(source).exists() else None


def _front_matter(hub: HubMetadata, card: CardSettings) -> ModelCardData:
    results = list(hub.results)
    return ModelCardData(
        license=card.license,
        language=list(card.language) or None,
        library_name="litebert",
        pipeline_tag=hub.task,
        tags=["albert", "litebert"],
        base_model=hub.base_model,
        datasets=list(hub.datasets) or None,
        metrics=list(dict.fromkeys(result.metric_type for result in results)) or None,
        model_name=hub.name if results else None,
        eval_results=results or None,
    )


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
