"""How weights are stored and multiplied: in 32 bits, or in 8 with activations quantized for each token.

Both forms use standard ONNX operators only, so that every runtime runs them, browsers included.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from torch import Tensor, nn

from litebert.export.graph_builder import GraphBuilder

LARGEST: Final = 127
"""Of a signed byte; -128 is not used, so that zero is exact."""
ZERO_POINT: Final = 128
"""Byte of an activation of zero: onnxruntime's fast kernels multiply unsigned by signed bytes."""
SMALLEST_SCALE: Final = 1e-12
"""Scale of a token whose activations are all zero."""


@dataclass(frozen=True)
class Dense:
    """The weights of a dense layer, or of several with the same input side by side."""

    name: str
    weight: np.ndarray
    """Float32 [outputs, inputs]."""
    bias: np.ndarray | None

    @classmethod
    def of(cls, name: str, *layers: Any) -> "Dense":
        """The dense layers `layers` as one."""
        weight = np.concatenate([to_numpy(layer.weight) for layer in layers])
        biases = [to_numpy(layer.bias) for layer in layers if layer.bias is not None]
        return cls(name, weight, np.concatenate(biases) if biases else None)

    def scaled(self, factors: np.ndarray) -> "Dense":
        """The layer with each output times its factor."""
        bias = None if self.bias is None else self.bias * factors
        return Dense(self.name, self.weight * factors[:, None], bias)


class Float32:
    """Weights and arithmetic in 32 bits."""

    def dense(self, graph: GraphBuilder, x: str, layer: Dense) -> str:
        """The outputs of a dense layer, [N, outputs], for `x` [N, inputs]; the weight is as torch stores it."""
        weight = graph.weight(f"{layer.name}.weight", layer.weight)
        bias = () if layer.bias is None else (graph.weight(f"{layer.name}.bias", layer.bias),)
        return graph.op("Gemm", x, weight, *bias, transB=1)

    def rows(self, graph: GraphBuilder, name: str, table: nn.Embedding, ids: str) -> str:
        """Rows of an embedding table."""
        return graph.op("Gather", graph.weight(f"{name}.weight", to_numpy(table.weight)), ids)

    def tied(self, graph: GraphBuilder, x: str, name: str, table: nn.Embedding, bias: Tensor) -> str:
        """Products of `x` [N, E] with every row of an embedding table, stored once, plus a bias for each row."""
        weight = graph.weight(f"{name}.weight", to_numpy(table.weight))
        return graph.op("Gemm", x, weight, graph.weight(f"{name}.output_bias", to_numpy(bias)), transB=1)


class Int8:
    """Bytes with a zero point of 128: a scale for each output of a layer and each row of a table, one for each token.

    A token's scale depends on that token alone, so an answer does not depend on the other texts of a batch; the
    quantization of onnxruntime's tools has one scale for the whole batch, three times the error and 1.15 times the
    speed (benchmarks/log.md, int8 matrix products in onnxruntime). The weights are unsigned too: on processors without
    VNNI onnxruntime adds products of unsigned and signed bytes in 16 bits, where they are cut off.
    """

    def dense(self, graph: GraphBuilder, x: str, layer: Dense) -> str:
        """A product of bytes, scaled back."""
        quantized, scales = quantized_rows(layer.weight)
        weight = graph.weight(f"{layer.name}.weight", quantized.T)
        y = self._product(graph, x, weight, graph.weight(f"{layer.name}.scale", scales))
        return y if layer.bias is None else graph.op("Add", y, graph.weight(f"{layer.name}.bias", layer.bias))

    def rows(self, graph: GraphBuilder, name: str, table: nn.Embedding, ids: str) -> str:
        """Bytes of the rows, scaled."""
        quantized, scales = self._table(graph, name, table)
        rows = graph.op("Cast", graph.op("Gather", quantized, ids), to=1)
        rows = graph.op("Sub", rows, graph.constant(ZERO_POINT, np.float32))
        of_rows = graph.op("Unsqueeze", graph.op("Gather", scales, ids), graph.constant([-1]))
        return graph.op("Mul", rows, of_rows)

    def tied(self, graph: GraphBuilder, x: str, name: str, table: nn.Embedding, bias: Tensor) -> str:
        """A product with the bytes of the table."""
        quantized, scales = self._table(graph, name, table)
        y = self._product(graph, x, graph.op("Transpose", quantized, perm=[1, 0]), scales)
        return graph.op("Add", y, _from_half(graph, f"{name}.output_bias", to_numpy(bias)))

    def _table(self, graph: GraphBuilder, name: str, table: nn.Embedding) -> tuple[str, str]:
        """Names of the bytes [V, E] and of the scales [V], which are stored in 16 bits."""
        quantized, scales = quantized_rows(to_numpy(table.weight), dtype=np.float16)
        return graph.weight(f"{name}.weight", quantized), _from_half(graph, f"{name}.scale", scales)

    def _product(self, graph: GraphBuilder, x: str, weight: str, scales: str) -> str:
        """`x` [N, inputs] times bytes [inputs, outputs] times scales [outputs]."""
        largest = graph.op("ReduceMax", graph.op("Abs", x), graph.constant([1]), keepdims=0)
        scale = graph.op("Mul", largest, graph.constant(1 / LARGEST, np.float32))
        scale = graph.op("Max", scale, graph.constant(SMALLEST_SCALE, np.float32))
        zero_points = graph.op("Expand", graph.constant([ZERO_POINT], np.uint8), graph.op("Shape", scale))
        quantized = graph.op("QuantizeLinear", x, scale, zero_points, axis=0)
        zero_point = graph.constant(ZERO_POINT, np.uint8)
        product = graph.op("MatMulInteger", quantized, weight, zero_point, zero_point)
        y = graph.op("Mul", graph.op("Cast", product, to=1), scales)
        return graph.op("Mul", y, graph.op("Unsqueeze", scale, graph.constant([1])))


WeightFormat = Float32 | Int8
FORMATS: Final[dict[str, WeightFormat]] = {"fp32": Float32(), "int8": Int8()}


def quantized_rows(values: np.ndarray, *, dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray]:
    """UInt8 [R, C] and the scale of each row [R] in `dtype`, such that (row - ZERO_POINT) · scale is about `values`."""
    scales = np.maximum(np.abs(values).max(axis=1) / LARGEST, np.finfo(dtype).tiny).astype(dtype)
    steps = np.round(values / scales.astype(np.float32)[:, None])
    return (np.clip(steps, -LARGEST, LARGEST) + ZERO_POINT).astype(np.uint8), scales


def to_numpy(parameter: Any) -> np.ndarray:
    """A parameter as Float32."""
    return parameter.detach().float().cpu().numpy()


def _from_half(graph: GraphBuilder, name: str, value: np.ndarray) -> str:
    """A vector stored in 16 bits; used in 32."""
    return graph.op("Cast", graph.weight(name, value.astype(np.float16)), to=1)


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
