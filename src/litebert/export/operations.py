"""Nodes that the encoder, its blocks and the heads share."""

from collections.abc import Mapping
from typing import Any, Final

from litebert.export.graph_builder import GraphBuilder
from litebert.export.weight_formats import to_numpy

_ACTIVATIONS: Final[Mapping[str, tuple[str, dict[str, str]]]] = {
    "gelu": ("Gelu", {"approximate": "none"}),
    "gelu_new": ("Gelu", {"approximate": "tanh"}),
    "relu": ("Relu", {}),
}


def norm(graph: GraphBuilder, x: str, name: str, layer: Any) -> str:
    """LayerNorm over the last axis."""
    scale = graph.weight(f"{name}.weight", to_numpy(layer.weight))
    bias = graph.weight(f"{name}.bias", to_numpy(layer.bias))
    return graph.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=layer.eps)


def activation(graph: GraphBuilder, x: str, name: str) -> str:
    """An activation function by its name in a config."""
    if name == "silu":
        return graph.op("Mul", x, graph.op("Sigmoid", x))
    kind, attributes = _ACTIVATIONS[name]
    return graph.op(kind, x, **attributes)
