"""A model as an ONNX graph, with the depth as a loop."""

from typing import Any, Final

import numpy as np

from litebert.errors import import_extra
from litebert.export.encoder_graph import EncoderGraph, Sequences
from litebert.export.graph_builder import IR_VERSION, OPSET, GraphBuilder
from litebert.export.head_graphs import HEADS, HeadInputs, Output, Outputs
from litebert.export.weight_formats import FORMATS

INPUTS: Final = ("input_ids", "attention_mask", "token_type_ids")
"""Int64 [B, S]; [B, C, S] for multiple choice."""
LAYERS: Final = "num_hidden_layers"
"""Optional input, Int64 scalar: how many layers run."""


def build_graph(model: Any, precision: str) -> Any:
    """The `onnx.ModelProto` of any class of `litebert.model.models`, with the weights in `precision`."""
    helper = import_extra("onnx", extra="export", needed_for="the ONNX export").helper
    graph, rank = GraphBuilder(), 3 if type(model).__name__ == "ForMultipleChoice" else 2
    layers = graph.weight(LAYERS, np.array(model.config.num_hidden_layers))
    outputs = _outputs(graph, model, precision, layers)
    for name, output in outputs.items():
        graph.nodes.append(helper.make_node("Identity", [output.tensor], [name]))
    axes = ("batch", "choices", "sequence") if rank == 3 else ("batch", "sequence")
    inputs = [Output(name, axes, np.int64) for name in INPUTS]
    body = helper.make_graph(
        graph.nodes,
        type(model).__name__,
        [_value_info(each.tensor, each) for each in (*inputs, Output(LAYERS, (), np.int64))],
        [_value_info(name, each) for name, each in outputs.items()],
        graph.tensors(),
    )
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_model(body, opset_imports=opsets, ir_version=IR_VERSION, producer_name="litebert")


def _outputs(graph: GraphBuilder, model: Any, precision: str, layers: str) -> Outputs:
    """Add all nodes; the outputs of the head, the hidden states and a vector for each sequence."""
    weights, config = FORMATS[precision], model.config
    names = INPUTS
    if type(model).__name__ == "ForMultipleChoice":
        shape = graph.op("Concat", graph.constant([-1]), graph.op("Shape", INPUTS[0], start=2), axis=0)
        names = tuple(graph.op("Reshape", name, shape) for name in INPUTS)
    sequences = Sequences.of(graph, *names)
    states = EncoderGraph(graph, model.encoder, weights).states(sequences, layers)
    by_row = graph.reshape(states, sequences.batch, sequences.length, config.hidden_size)
    head = HeadInputs(graph, model, weights, sequences, states, by_row)
    vector = head.vectors(getattr(model, "pooling", "mean"))
    return {
        **HEADS[type(model).__name__](head),
        "last_hidden_state": Output(by_row, ("rows", "sequence", config.hidden_size)),
        "sentence_embedding": Output(vector, ("rows", config.hidden_size)),
    }


def _value_info(name: str, output: Output) -> Any:
    from onnx import helper

    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(output.dtype)), output.axes)
