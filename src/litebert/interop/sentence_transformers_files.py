"""The files with which sentence-transformers loads a model directory."""

from pathlib import Path
from typing import Any

from litebert.files import write_json
from litebert.manifest import update_manifest
from litebert.model.io.model_spec import ModelSpec, read_model_spec


def write_sentence_transformers_files(directory: Path) -> None:
    """Add the files to the model directory of a `SentenceEmbedder`, and to its manifest.

    Models that transformers loads with remote code need `trust_remote_code=True` in sentence-transformers too.
    """
    spec = read_model_spec(directory)
    files = _files(spec)
    for name, content in files.items():
        write_json(directory / name, content)
    update_manifest(directory, files)


def _files(spec: ModelSpec) -> dict[str, Any]:
    """Name → content of each file, in the format of sentence-transformers 2 and later."""
    longest = min(spec.max_length or spec.config.max_position_embeddings, spec.config.max_position_embeddings)
    steps = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    modules = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{name}"}
        for index, (path, name) in enumerate(steps.items())
    ]
    pooling = {
        "word_embedding_dimension": spec.config.hidden_size,
        "pooling_mode_cls_token": spec.pooling == "cls",
        "pooling_mode_mean_tokens": spec.pooling == "mean",
        "pooling_mode_max_tokens": False,
        "pooling_mode_mean_sqrt_len_tokens": False,
    }
    return {
        "modules.json": modules,
        "1_Pooling/config.json": pooling,
        "sentence_bert_config.json": {"max_seq_length": longest, "do_lower_case": False},
        "config_sentence_transformers.json": {"similarity_fn_name": "cosine"},
    }
