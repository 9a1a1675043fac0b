"""One block, attention and feed-forward, as nodes in the body of a loop."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from litebert.export.graph_builder import GraphBuilder
from litebert.export.layer_runs import Block, without_adapter
from litebert.export.weight_formats import Dense, WeightFormat, activation, norm
from litebert.model.config import ModelConfig


@dataclass(frozen=True)
class BlockContext:
    """What every block reads besides the states; the strings are names."""

    config: ModelConfig
    weights: WeightFormat
    names: Mapping[int, str]
    """id of a parameter → its name, which blocks with shared parameters share."""
    mask: str
    """Float [B, 1, 1, S], added to the attention scores."""
    heads: str
    """The shape B S A D."""
    rotation: tuple[str, str] | None
    """Cosines and sines, [S, 1, D / 2]."""


class BlockGraph:
    """Adds one block to the body of a loop; `blocks` are those of all iterations, which differ in their updates."""

    def __init__(
        self, graph: GraphBuilder, context: BlockContext, blocks: Sequence[Block], *, name: str, iteration: str
    ) -> None:
        self.graph = graph
        self.context = context
        self.config = context.config
        self.blocks = blocks
        self.name = name
        self.iteration = iteration

    def output(self, x: str) -> str:
        """The block's output for the states `x` [B · S, H]."""
        first = self.config.norm_first
        for module, layer in ((self.blocks[0].attention, self._attention), (self.blocks[0].feed_forward, self._ff)):
            y = layer(module, self._norm(x, module) if first else x)
            x = self.graph.op("Add", x, y)
            x = x if first else self._norm(x, module)
        return x

    def _attention(self, module: Any, x: str) -> str:
        graph, config, context = self.graph, self.config, self.context
        factors = np.ones(3 * config.hidden_size, np.float32)
        factors[: config.hidden_size] = config.head_size**-0.5
        qkv = self._dense(x, module, ("query", "key", "value"), factors=factors)
        parts = (graph.op("Reshape", part, context.heads) for part in graph.ops("Split", 3, qkv, axis=1, num_outputs=3))
        query, key, value = parts  # B S A D
        if context.rotation is not None:
            query, key = (self._rotate(part, *context.rotation) for part in (query, key))
        query, value = (graph.op("Transpose", part, perm=[0, 2, 1, 3]) for part in (query, value))
        scores = graph.op("MatMul", query, graph.op("Transpose", key, perm=[0, 2, 3, 1]))
        probabilities = graph.op("Softmax", graph.op("Add", scores, context.mask), axis=-1)
        attended = graph.op("Transpose", graph.op("MatMul", probabilities, value), perm=[0, 2, 1, 3])
        return self._dense(graph.reshape(attended, -1, config.hidden_size), module, ("output",))

    def _rotate(self, x: str, cos: str, sin: str) -> str:
        graph = self.graph
        first, second = graph.ops("Split", 2, x, axis=-1, num_outputs=2)
        left = graph.op("Sub", graph.op("Mul", first, cos), graph.op("Mul", second, sin))
        right = graph.op("Add", graph.op("Mul", second, cos), graph.op("Mul", first, sin))
        return graph.op("Concat", left, right, axis=-1)

    def _ff(self, module: Any, x: str) -> str:
        graph, config = self.graph, self.config
        if not config.gated_feed_forward:
            return self._dense(activation(graph, self._dense(x, module, ("up",)), config.hidden_act), module, ("down",))
        gate, up = graph.ops("Split", 2, self._dense(x, module, ("gate", "up")), axis=1, num_outputs=2)
        return self._dense(graph.op("Mul", activation(graph, gate, config.hidden_act), up), module, ("down",))

    def _dense(self, x: str, module: Any, names: Sequence[str], *, factors: np.ndarray | None = None) -> str:
        """The outputs of the dense layers `names` of a module, side by side, each times its factor."""
        layers = [without_adapter(getattr(module, name)) for name in names]
        factors = np.ones(sum(layer.out_features for layer in layers), np.float32) if factors is None else factors
        dense = Dense.of(self._name(layers[0]), *layers).scaled(factors)
        y = self.context.weights.dense(self.graph, x, dense)
        return self._add_updates(x, y, dict(zip(names, layers, strict=True)), factors)

    def _add_updates(self, x: str, y: str, layers: Mapping[str, Any], factors: np.ndarray) -> str:
        """`y`, plus the outputs of the low-rank updates of the layer that runs."""
        if not any(name in self.blocks[0].updates for name in layers):
            return y
        graph = self.graph
        updates = [side_by_side(block, layers) for block in self.blocks]
        label = f"{self.name}.{'_'.join(layers)}"
        down = graph.weight(f"{label}.a", np.stack([a.T for a, _ in updates]))  # L inputs R
        up = graph.weight(f"{label}.b", np.stack([b.T * factors for _, b in updates]))  # L R outputs
        down, up = (graph.op("Gather", stack, self.iteration) for stack in (down, up))
        return graph.op("Add", y, graph.op("MatMul", graph.op("MatMul", x, down), up))

    def _norm(self, x: str, module: Any) -> str:
        return norm(self.graph, x, self._name(module.norm), module.norm)

    def _name(self, layer: Any) -> str:
        return self.context.names[id(layer.weight)].removesuffix(".weight")


def side_by_side(block: Block, layers: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """A [R, inputs] and B [outputs, R] of several layers' updates as those of one layer with all their outputs."""
    a, b = [], np.zeros((0, 0), np.float32)
    for name, layer in layers.items():
        own_a, own_b = block.updates.get(
            name, (np.zeros((0, layer.in_features), np.float32), np.zeros((layer.out_features, 0), np.float32))
        )
        a.append(own_a)
        right = np.zeros((len(b), own_b.shape[1]), np.float32)
        below = np.zeros((len(own_b), b.shape[1]), np.float32)
        b = np.block([[b, right], [below, own_b]])
    return np.concatenate(a), b
