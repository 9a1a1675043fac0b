"""A model directory → an export directory: the graphs, the tokenizer, `config.json` and the model card."""

import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from litebert import __version__
from litebert.errors import ConfigError
from litebert.export.exported_graph import Comparison, ExportedGraph, ExportPrecision, OtherHead
from litebert.export.model_graph import build_graph
from litebert.export.reference_outputs import compare
from litebert.files import README, write_bytes, write_json
from litebert.manifest import atomic_directory
from litebert.model.io.model_directory import load_model, spec_of
from litebert.model.io.model_spec import CONFIG, MASKED_LANGUAGE_MODELS, read_model_spec, to_json
from litebert.model.io.replaced_directories import BESIDE_WEIGHTS, check_replaceable
from litebert.model.layers.lora import can_be_merged, merged
from litebert.runtime.export_metadata import GRAPH_FILES, KEY, ExportMetadata, is_export
from litebert.tasks.metrics.text_table import markdown_table
from litebert.tasks.readers.columns import SavedTask
from litebert.tasks.types.registry import task_type_of
from litebert.tokenization.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

_USE: Final = """\
## How to use

This directory holds ONNX files, which run without torch. torch and transformers need the model directory from which
they were made.

"""
_ONNX_SECTION: Final = """
## ONNX files

The evaluation above is that of the model directory. Differences from its outputs:

"""
_USE_OF_MODEL: Final = re.compile(r"^## How to use\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_EXAMPLE: Final = re.compile(r"```python\nfrom litebert import Predictor\n.*?```\n", re.DOTALL)
LARGEST_FILE: Final = 2**31 - 1
"""Bytes of an ONNX file with its weights inside."""


def export_model(
    source: Path, out: Path, *, precisions: Sequence[ExportPrecision] = ("fp32",), as_model: OtherHead | None = None
) -> list[ExportedGraph]:
    """Write an export directory atomically, after the outputs of every graph were compared with torch's.

    Args:
        source: a model directory.
        out: must be new, empty, or an export directory without further files.
        precisions: one file for each; a graph in another precision that `out` has is removed, with a line in the log.
        as_model: export the encoder with this head, which the source has weights for, instead of its own.

    Raises:
        CheckpointError: the source lacks weights, or `out` holds other files.
        ConfigError: the graph does not fit into one file, or cannot express the task, or `out` is or holds the source.
        NotFiniteError: outputs of the model are not finite.
        LitebertError: the outputs differ.
    """
    if source.resolve().is_relative_to(out.resolve()):
        raise ConfigError(f"{out}: {source} lies there and would be deleted; choose another directory")
    check_replaceable(out, is_own=is_export(out), names=(*BESIDE_WEIGHTS, *GRAPH_FILES.values()))
    if as_model is None:
        _validate_task(source)
    model: Any = load_model(source, as_model=as_model)
    model = merged(model) if can_be_merged(model) else model
    tokenizer = Tokenizer.load(source)
    described = _describe(source, model, tokenizer)
    contents = {each: _content(model, each, described) for each in precisions}
    comparisons = {each: compare(content, model, each, source=source) for each, content in contents.items()}
    spec = read_model_spec(source)
    if type(model).__name__ == spec.model:
        spec = spec_of(model, labels=spec.labels, problem_type=spec.problem_type)
    else:
        spec = spec_of(model)
    config = {name: value for name, value in to_json(spec).items() if name != "auto_map"}  # no code beside the graphs
    _log_removed(out, precisions)
    with atomic_directory(out) as temporary:
        write_json(temporary / CONFIG, config)
        saved = SavedTask.stored(source) if as_model is None else None
        files = {**tokenizer.files(max_length=_longest_input(described)), **(saved.files() if saved else {})}
        for name, content in files.items():
            write_bytes(temporary / name, content)
        for precision, content in contents.items():
            write_bytes(temporary / GRAPH_FILES[precision], content)
        if as_model is None and (source / README).is_file():  # the card is that of the model's own head
            write_bytes(temporary / README, _card((source / README).read_bytes(), comparisons))
    return [ExportedGraph(each, out / GRAPH_FILES[each], len(contents[each]), comparisons[each]) for each in contents]


def _log_removed(out: Path, precisions: Sequence[ExportPrecision]) -> None:
    """Log which graphs of an earlier export are not in the new one, which replaces it."""
    for precision, name in GRAPH_FILES.items():
        if precision not in precisions and (out / name).is_file():
            logger.warning(
                "%s: removed, as the new export replaces the earlier one; --precision %s writes both",
                out / name,
                " ".join(GRAPH_FILES),
            )


def _validate_task(source: Path) -> None:
    """Raise ConfigError for a fine-tuned masked language model, whose task the graph cannot express."""
    saved = SavedTask.stored(source)
    if saved is not None and read_model_spec(source).model in MASKED_LANGUAGE_MODELS:
        raise ConfigError(
            f"{source}: models for {saved.task_type} cannot be exported; as_model=ForMaskedLM exports one that "
            "fills in masks"
        )


def _describe(source: Path, model: Any, tokenizer: Tokenizer) -> dict[str, Any]:
    """The metadata without the precision."""
    spec, name, config = read_model_spec(source), type(model).__name__, model.config
    described = {
        "litebert": __version__,
        "model": name,
        "max_length": getattr(model, "max_length", None) or config.max_position_embeddings,
        "num_hidden_layers": config.num_hidden_layers,
        "pooling": getattr(model, "pooling", "mean"),
        "pairing": getattr(model, "pairing", None),
        "vocabulary": tokenizer.model.file_name,
        "text_settings": tokenizer.settings.to_dict(),
        "tokenizer": tokenizer.fingerprint,
    }
    if name in MASKED_LANGUAGE_MODELS or name == "SentenceEmbedder":
        return {**described, "task": "fill_mask" if name in MASKED_LANGUAGE_MODELS else "embedding"}
    task_type = task_type_of(source, spec)
    settings = task_type.settings.stored(source, max_length=config.max_position_embeddings)
    saved = SavedTask.stored(source)
    return {
        **described,
        "task": task_type.name,
        "labels": spec.labels,
        "settings": settings.to_dict(),
        "reads_single_texts": saved is not None and saved.reads_single_texts,
    }


def _card(card: bytes, comparisons: Mapping[ExportPrecision, Comparison]) -> bytes:
    """The card of the model, and how far the outputs of each graph are from those which the card describes."""
    rows = [
        [f"`{GRAPH_FILES[each]}`", f"{comparison.largest_difference:.2g}", f"{comparison.relative_error:.2g}"]
        for each, comparison in comparisons.items()
    ]
    table = markdown_table([["file", "outputs, at most", "hidden states, root mean square"], *rows])
    return f"{_USE_OF_MODEL.sub(_use_of_export, card.decode())}{_ONNX_SECTION}{table}\n".encode()


def _use_of_export(section: re.Match[str]) -> str:
    """The section of a model card with code, without that for torch; `litebert.runtime` has the same methods."""
    examples = [
        each.replace("from litebert import", "from litebert.runtime import") for each in _EXAMPLE.findall(section[0])
    ]
    return _USE + "\n".join([*examples, ""])


def _longest_input(described: dict[str, Any]) -> int:
    """That of the task, or the positions of the model."""
    return described.get("settings", {}).get("max_length", described["max_length"])


def _content(model: Any, precision: ExportPrecision, described: dict[str, Any]) -> bytes:
    """The bytes of an ONNX file."""
    graph = build_graph(model, precision)
    entry = graph.metadata_props.add()
    entry.key, entry.value = KEY, ExportMetadata(precision=precision, **described).to_json()
    if graph.ByteSize() > LARGEST_FILE:
        raise ConfigError(
            f"export: the graph in {precision} has {graph.ByteSize():,} bytes, an ONNX file holds {LARGEST_FILE:,}; "
            "export in int8"
        )
    return graph.SerializeToString()
