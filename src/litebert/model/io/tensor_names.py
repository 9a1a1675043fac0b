"""The name of every tensor in litebert, transformers and google-research/albert. Torch-free.

Source: the state dict of `AlbertForPreTraining` in transformers and the variables of google-research/albert.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final, Literal

from litebert.model.config import ModelConfig, attention_shapes, feed_forward_shapes
from litebert.model.sharing_schedule import sharing_schedule, stored_blocks

Format = Literal["litebert", "transformers", "tensorflow"]
TargetFormat = Literal[Format, "sentence-transformers"]
"""What `convert` writes; `sentence-transformers` has the tensors of litebert and further files."""
Kind = Literal["table", "dense", "norm", "output", "plain"]


@dataclass(frozen=True)
class TensorNames:
    """One tensor's name in each `Format`; None where a format has no such tensor."""

    litebert: str
    transformers: str | None
    tensorflow: str | None
    transposed: bool = False
    """TensorFlow stores this matrix as (inputs, outputs), torch as (outputs, inputs)."""


@dataclass(frozen=True)
class _Module:
    litebert: str
    kind: Kind
    transformers: str | None
    tensorflow: str | None

    def at(self, **indices: int) -> "_Module":
        """The module with the indices filled in."""
        hf, tensorflow = self.transformers, self.tensorflow
        return _Module(
            self.litebert.format(**indices),
            self.kind,
            hf and hf.format(**indices),
            tensorflow and tensorflow.format(**indices),
        )


_PARTS: Final[dict[Kind, tuple[tuple[str, str, bool], ...]]] = {
    "table": ((".weight", "", False),),
    "dense": ((".weight", "/kernel", True), (".bias", "/bias", False)),
    "norm": ((".weight", "/gamma", False), (".bias", "/beta", False)),
    "output": ((".weight", "output_weights", False), (".bias", "output_bias", False)),
    "plain": (("", "", False),),
}
"""Tensors of each kind of module: suffix in litebert and transformers, suffix in TensorFlow, transposed there."""


def _modules_at(
    litebert: str, transformers: str, tensorflow: str, rows: tuple[tuple[str, Kind, str, str], ...]
) -> tuple[_Module, ...]:
    """Modules with these prefixes of their names in each format."""
    return tuple(_Module(litebert + own, kind, transformers + hf, tensorflow + tf) for own, kind, hf, tf in rows)


_HF_LAYER: Final = "albert.encoder.albert_layer_groups.{group}.albert_layers.{inner}."
_TF_LAYER: Final = "bert/encoder/transformer/group_{group}/inner_group_{inner}/"
_PROJECTION: Final = "embedding_hidden_mapping_in"

_EMBEDDINGS: Final = _modules_at(
    *("encoder.", "albert.", "bert/"),
    (
        ("embeddings.word", "table", "embeddings.word_embeddings", "embeddings/word_embeddings"),
        ("embeddings.token_type", "table", "embeddings.token_type_embeddings", "embeddings/token_type_embeddings"),
        ("embeddings.position", "table", "embeddings.position_embeddings", "embeddings/position_embeddings"),
        ("embeddings.norm", "norm", "embeddings.LayerNorm", "embeddings/LayerNorm"),
        ("projection", "dense", f"encoder.{_PROJECTION}", f"encoder/{_PROJECTION}"),
    ),
)
_ATTENTION: Final = _modules_at(
    *("encoder.attentions.{block}.", _HF_LAYER, _TF_LAYER),
    (
        ("query", "dense", "attention.query", "attention_1/self/query"),
        ("key", "dense", "attention.key", "attention_1/self/key"),
        ("value", "dense", "attention.value", "attention_1/self/value"),
        ("output", "dense", "attention.dense", "attention_1/output/dense"),
        ("norm", "norm", "attention.LayerNorm", "LayerNorm"),
    ),
)
# google-research/albert nests the second dense layer in the variable scope of the first.
_FEED_FORWARD: Final = _modules_at(
    *("encoder.feed_forwards.{block}.", _HF_LAYER, _TF_LAYER),
    (
        ("up", "dense", "ffn", "ffn_1/intermediate/dense"),
        ("down", "dense", "ffn_output", "ffn_1/intermediate/output/dense"),
        ("norm", "norm", "full_layer_layer_norm", "LayerNorm_1"),
    ),
)
# Parts of blocks that differ from ALBERT's.
_GATE = _Module("encoder.feed_forwards.{block}.gate", "dense", None, None)
_FINAL_NORM = _Module("encoder.final_norm", "norm", None, None)
_UPDATE = "encoder.recursion_lora.{step}.{layer}.{factor}"
_HEADS = (
    _Module("encoder.pooler", "dense", "albert.pooler", "bert/pooler/dense"),
    _Module("mlm.dense", "dense", "predictions.dense", "cls/predictions/transform/dense"),
    _Module("mlm.norm", "norm", "predictions.LayerNorm", "cls/predictions/transform/LayerNorm"),
    _Module("mlm.bias", "plain", "predictions.bias", "cls/predictions/output_bias"),
    _Module("sentence_pair", "output", "sop_classifier.classifier", "cls/seq_relationship/"),
    _Module("classifier", "output", "classifier", ""),
    _Module("spans", "output", "qa_outputs", "cls/squad/"),
    _Module("start", "dense", None, "start_logits/dense"),
    _Module("end_dense", "dense", None, "end_logits/dense_0"),
    _Module("end_norm", "norm", None, "end_logits/LayerNorm"),
    _Module("end", "dense", None, "end_logits/dense_1"),
    _Module("answer_dense", "dense", None, "answer_class/dense_0"),
    _Module("answer", "dense", None, "answer_class/dense_1"),
)

_GROUP_RULES: Final[dict[Format, Callable[[int, int, int], int]]] = {
    "transformers": lambda layer, layers, groups: int(layer / (layers / groups)),
    "tensorflow": lambda layer, layers, groups: int(layer / layers * groups),
}
"""The group of a layer as the other code computes it, in floats: at some depths not the group of the config."""


def tensor_names(config: ModelConfig) -> tuple[TensorNames, ...]:
    """Every tensor that a model of this config may have, with all heads, in the order of the forward pass.

    The tensors of a block that differs from ALBERT's have no names in the other formats.
    """
    return tuple(names for module in _modules(config) for names in _tensors(module))


def groups_in(config: ModelConfig, name: Format) -> int | None:
    """`num_hidden_groups` with which the other code runs the sharing schedule of `config`; None if there is none."""
    schedule = sharing_schedule(config)
    for groups in (config.num_hidden_groups, config.num_hidden_layers):
        other = _schedule_by(_GROUP_RULES[name], config.replace(num_hidden_groups=groups, sharing="all"))
        if schedule == other:
            return groups
    return None


def _schedule_by(rule: Callable[[int, int, int], int], config: ModelConfig) -> tuple[tuple[int, int], ...]:
    layers, inner = config.num_hidden_layers, config.inner_group_num
    starts = (rule(layer, layers, config.num_hidden_groups) * inner for layer in range(layers))
    return tuple((start + block, start + block) for start in starts for block in range(inner))


def _modules(config: ModelConfig) -> Iterator[_Module]:
    attentions, feed_forwards = stored_blocks(config)
    yield from _EMBEDDINGS
    feed_forward = (*_FEED_FORWARD, _GATE) if config.gated_feed_forward else _FEED_FORWARD
    for count, modules in ((attentions, _ATTENTION), (feed_forwards, feed_forward)):
        for block in range(count):
            group, inner = divmod(block, config.inner_group_num)
            yield from (module.at(block=block, group=group, inner=inner) for module in modules)
    if config.recursion_lora_rank:
        layers = (*attention_shapes(config), *feed_forward_shapes(config))
        for step, layer, factor in product(range(len(sharing_schedule(config))), layers, ("a", "b")):
            yield _Module(_UPDATE.format(step=step, layer=layer, factor=factor), "plain", None, None)
    if config.norm_first:
        yield _FINAL_NORM
    yield from _HEADS


def _tensors(module: _Module) -> Iterator[TensorNames]:
    for suffix, tf_suffix, transposed in _PARTS[module.kind]:
        yield TensorNames(
            litebert=module.litebert + suffix,
            transformers=None if module.transformers is None else module.transformers + suffix,
            tensorflow=None if module.tensorflow is None else module.tensorflow + tf_suffix,
            transposed=transposed,
        )
