"""The encoder as a graph: embeddings, and one loop for each run of equal layers.

The states are a matrix [B · S, H] outside of attention, so that a token is a row.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from litebert.export.block_graph import BlockContext, BlockGraph
from litebert.export.graph_builder import GraphBuilder
from litebert.export.layer_runs import LayerRun, layer_runs
from litebert.export.weight_formats import Dense, WeightFormat, norm, to_numpy
from litebert.model.encoder import Encoder

MASKED: Final = -1e9
"""Added to the attention scores of padding."""


@dataclass(frozen=True)
class Sequences:
    """Names of the inputs, B rows of S tokens, and of their sizes as Int64 [1]."""

    input_ids: str
    attention_mask: str
    token_type_ids: str
    batch: str
    length: str
    positions: str
    """Int64 [S]: 0, 1, …"""

    @classmethod
    def of(cls, graph: GraphBuilder, input_ids: str, attention_mask: str, token_type_ids: str) -> "Sequences":
        """Add the nodes that compute the sizes."""
        shape = graph.op("Shape", input_ids)
        batch, length = (graph.op("Gather", shape, graph.constant([axis])) for axis in (0, 1))
        positions = graph.op("Range", graph.constant(0), graph.op("Squeeze", length), graph.constant(1))
        return cls(input_ids, attention_mask, token_type_ids, batch, length, positions)


class EncoderGraph:
    """Adds an encoder to a graph."""

    def __init__(self, graph: GraphBuilder, encoder: Encoder, weights: WeightFormat) -> None:
        self.graph = graph
        self.encoder = encoder
        self.config = encoder.config
        self.weights = weights

    def states(self, inputs: Sequences, layers: str) -> str:
        """The hidden states [B · S, H] after `layers` layers, an Int64 scalar."""
        graph = self.graph
        x = self._embed(inputs)
        context = self._context(inputs)
        for run in layer_runs(self.encoder):
            begun = graph.op("Sub", layers, graph.constant(run.start))
            trips = graph.op("Max", graph.op("Min", begun, graph.constant(len(run.layers))), graph.constant(0))
            x = self._loop(run, x, trips, context)
        return norm(graph, x, "final_norm", self.encoder.final_norm) if self.config.norm_first else x

    def _embed(self, inputs: Sequences) -> str:
        graph, embeddings = self.graph, self.encoder.embeddings
        segments = graph.weight("token_type.weight", to_numpy(embeddings.token_type.weight))
        words = self.weights.rows(graph, "word", embeddings.word, inputs.input_ids)
        summed = graph.op("Add", words, graph.op("Gather", segments, inputs.token_type_ids))
        if embeddings.position is not None:
            summed = graph.op(
                "Add", summed, self.weights.rows(graph, "position", embeddings.position, inputs.positions)
            )
        x = norm(graph, graph.reshape(summed, -1, self.config.embedding_size), "embedding_norm", embeddings.norm)
        if not self.config.has_projection:
            return x
        return self.weights.dense(graph, x, Dense.of("projection", self.encoder.projection))

    def _context(self, inputs: Sequences) -> BlockContext:
        graph, config = self.graph, self.config
        attended = graph.op("Cast", inputs.attention_mask, to=9)  # bool
        mask = graph.op("Where", attended, graph.constant(0, np.float32), graph.constant(MASKED, np.float32))
        return BlockContext(
            config=config,
            weights=self.weights,
            names={id(parameter): name for name, parameter in self.encoder.named_parameters()},
            mask=graph.op("Unsqueeze", mask, graph.constant([1, 2])),
            heads=graph.shape(inputs.batch, inputs.length, config.num_attention_heads, config.head_size),
            rotation=self._rotation(inputs) if config.position_embedding == "rotary" else None,
        )

    def _rotation(self, inputs: Sequences) -> tuple[str, str]:
        graph, config = self.graph, self.config
        frequencies = config.rope_theta ** -(np.arange(0, config.head_size, 2) / config.head_size)
        positions = graph.op("Unsqueeze", graph.op("Cast", inputs.positions, to=1), graph.constant([1, 2]))
        angles = graph.op("Mul", positions, graph.constant(frequencies, np.float32))
        return graph.op("Cos", angles), graph.op("Sin", angles)

    def _loop(self, run: LayerRun, x: str, trips: str, context: BlockContext) -> str:
        iteration, inner = f"iteration_{run.start}", f"states_{run.start}"
        body, state = GraphBuilder(self.graph), inner
        for index in range(len(run.layers[0])):
            blocks, name = [layer[index] for layer in run.layers], f"layers_{run.start}.{index}"
            state = BlockGraph(body, context, blocks, name=name, iteration=iteration).output(state)
        return self.graph.loop(body, trips, state=x, iteration=iteration, inner=inner, result=state)
