"""The README of a model directory: what the model is, where it comes from, what it scored. Before: a finished run.

Source of the front matter: the model cards of the Hugging Face hub, through `huggingface_hub.ModelCard`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from huggingface_hub import ModelCardData
from torch import nn

from litebert import __version__
from litebert.model.io.model_directory import spec_of
from litebert.model.io.model_spec import has_remote_code, transformers_incompatibility


def model_card(
    model: nn.Module,
    *,
    title: str,
    task: str,
    summary: str,
    use: str,
    scores: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> str:
    """Markdown with the front matter that the hub reads.

    Args:
        model: the model of the directory; decides whether transformers loads it.
        title: the first heading.
        task: pipeline tag, such as `fill-mask` or `text-classification`.
        summary: what the model is, in a sentence or two.
        use: Python lines that use it.
        scores: name → figure, shown as a table.
        settings: what it was made with, shown as a table.
    """
    data = ModelCardData(library_name="litebert", pipeline_tag=task, tags=["albert", "litebert"])
    parts = [
        f"---\n{data.to_yaml()}\n---",
        f"# {title}",
        summary,
        f"```python\n{use}\n```",
        _transformers_note(model),
        "## Scores\n\n" + _table(("score", "value"), scores),
        "## Made with\n\n" + _table(("setting", "value"), {"litebert": __version__, **settings}),
    ]
    return "\n\n".join(parts) + "\n"


def _transformers_note(model: nn.Module) -> str:
    spec = spec_of(model)
    reason = transformers_incompatibility(spec)
    if reason is None:
        return "transformers loads this directory as well (`AutoModel.from_pretrained`)."
    if has_remote_code(spec):
        return f"transformers loads this directory with `trust_remote_code=True`: {reason}."
    return f"Only litebert loads this directory: {reason}."


def _table(header: Sequence[str], rows: Mapping[str, Any]) -> str:
    lines = [f"| {header[0]} | {header[1]} |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| {name} | {_figure(value)} |" for name, value in rows.items())])


def _figure(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
