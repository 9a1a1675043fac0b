"""The heads of all models as nodes: hidden states in, named outputs out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from litebert.export.encoder_graph import Sequences
from litebert.export.graph_builder import GraphBuilder
from litebert.export.weight_formats import Dense, Float32, WeightFormat, activation, norm
from litebert.model.config import Pooling
from litebert.model.models import FORBIDDEN
from litebert.tasks.types.extractive_qa.span_scores import BEAM_SIZE

FLOAT, INT64 = np.float32, np.int64


@dataclass(frozen=True)
class Output:
    """One output of a graph."""

    tensor: str
    """Name in the graph."""
    axes: tuple[str | int, ...]
    """Sizes; names are free."""
    dtype: type[np.generic] = FLOAT


Outputs = dict[str, Output]


@dataclass(frozen=True)
class HeadInputs:
    """What a head reads."""

    graph: GraphBuilder
    model: Any
    weights: WeightFormat
    sequences: Sequences
    states: str
    """Hidden states [B · S, H]."""
    by_row: str
    """The same as [B, S, H]."""

    def dense(self, x: str, name: str, layer: Any) -> str:
        """A large dense layer, in the format of the weights."""
        return self.weights.dense(self.graph, x, Dense.of(name, layer))

    def classifier(self, x: str, name: str, layer: Any) -> str:
        """A dense layer with few outputs, in 32 bits."""
        return Float32().dense(self.graph, x, Dense.of(name, layer))

    def first(self) -> str:
        """The states at the first positions, [B, H]."""
        return self.graph.op("Gather", self.by_row, self.graph.constant(0), axis=1)

    def mean(self) -> str:
        """The mean of the states of the real tokens, [B, H]."""
        graph, axis = self.graph, self.graph.constant([1])
        mask = graph.op("Cast", self.sequences.attention_mask, to=1)
        summed = graph.op("Squeeze", graph.op("MatMul", graph.op("Unsqueeze", mask, axis), self.by_row), axis)
        count = graph.op("ReduceSum", mask, axis, keepdims=1)
        return graph.op("Div", summed, graph.op("Max", count, graph.constant(1, FLOAT)))

    def vectors(self, pooling: Pooling) -> str:
        """One vector for each sequence, [B, H]."""
        return self.first() if pooling == "cls" else self.mean()

    def pooled(self, pooling: Pooling = "cls") -> str:
        """The pooler's output, [B, H]."""
        return self.graph.op("Tanh", self.dense(self.vectors(pooling), "pooler", self.model.encoder.pooler))

    def sequence_classifier(self) -> str:
        """The logits of each sequence, [B, classes]."""
        pooled = self.pooled(self.model.config.classifier_pooling)
        return self.classifier(pooled, "classifier", self.model.classifier)


def sequence_logits(inputs: HeadInputs) -> Outputs:
    """One row of logits for each sequence."""
    logits = inputs.sequence_classifier()
    return {"logits": Output(logits, ("batch", inputs.model.classifier.out_features))}


def choice_logits(inputs: HeadInputs) -> Outputs:
    """One logit for each option; the rows are the options of all questions."""
    logits = inputs.sequence_classifier()
    shape = inputs.graph.op("Shape", "input_ids", start=0, end=2)
    return {"logits": Output(inputs.graph.op("Reshape", logits, shape), ("batch", "choices"))}


def token_logits(inputs: HeadInputs) -> Outputs:
    """One row of logits for each token."""
    logits = inputs.classifier(inputs.states, "classifier", inputs.model.classifier)
    return {"logits": _by_token(inputs, logits, inputs.model.classifier.out_features)}


def span_logits(inputs: HeadInputs) -> Outputs:
    """Logits of each token as start and as end of the answer."""
    logits = _by_token(inputs, inputs.classifier(inputs.states, "spans", inputs.model.spans), 2).tensor
    starts, ends = inputs.graph.ops("Split", 2, logits, axis=2, num_outputs=2)
    axis = inputs.graph.constant([2])
    names = (("start_logits", starts), ("end_logits", ends))
    return {name: Output(inputs.graph.op("Squeeze", each, axis), ("batch", "sequence")) for name, each in names}


def mlm_logits(inputs: HeadInputs) -> Outputs:
    """Logits of the vocabulary for each token; the output matrix is the word embeddings."""
    graph, model = inputs.graph, inputs.model
    x = activation(graph, inputs.dense(inputs.states, "mlm.dense", model.mlm.dense), model.config.hidden_act)
    x = norm(graph, x, "mlm.norm", model.mlm.norm)
    logits = inputs.weights.tied(graph, x, "word", model.encoder.embeddings.word, model.mlm.bias)
    return {"logits": _by_token(inputs, logits, model.config.vocab_size)}


def pretraining_logits(inputs: HeadInputs) -> Outputs:
    """Logits of the vocabulary, and of the sentence pair unless that head was not trained."""
    if inputs.model.pairing == "none":
        return mlm_logits(inputs)
    pair = inputs.classifier(inputs.pooled(), "sentence_pair", inputs.model.sentence_pair)
    return {**mlm_logits(inputs), "sentence_pair_logits": Output(pair, ("batch", 2))}


def answer_beams(inputs: HeadInputs) -> Outputs:
    """The best starts, the best ends of each, and the no-answer logit; see `ForQuestionAnsweringWithNoAnswer`."""
    graph, model = inputs.graph, inputs.model
    mask = _answer_mask(inputs)
    size = graph.op("Min", graph.constant([BEAM_SIZE]), inputs.sequences.length)
    raw = _by_token(inputs, inputs.classifier(inputs.states, "start", model.start), 1).tensor
    starts = _masked_log_softmax(graph, graph.op("Squeeze", raw, graph.constant([2])), mask)
    best_starts, positions = graph.ops("TopK", 2, starts, size)
    ends = _end_log_probs(inputs, positions, graph.op("Unsqueeze", mask, graph.constant([1])))
    best_ends, end_positions = graph.ops("TopK", 2, ends, size)
    return {
        "start_log_probs": Output(best_starts, ("batch", "beams")),
        "start_positions": Output(positions, ("batch", "beams"), INT64),
        "end_log_probs": Output(best_ends, ("batch", "beams", "ends")),
        "end_positions": Output(end_positions, ("batch", "beams", "ends"), INT64),
        "impossible_logits": Output(_impossible_logits(inputs, starts), ("batch",)),
    }


def _answer_mask(inputs: HeadInputs) -> str:
    """Bool [B, S]: the context, and the first position."""
    graph, sequences = inputs.graph, inputs.sequences
    length = graph.op("ReduceSum", sequences.attention_mask, graph.constant([1]))
    last = graph.op("Sub", length, graph.constant(1))
    in_second = graph.op("Equal", sequences.token_type_ids, graph.constant(1))
    in_context = graph.op("And", in_second, graph.op("Less", sequences.positions, last))
    return graph.op("Or", in_context, graph.op("Equal", sequences.positions, graph.constant(0)))


def _masked_log_softmax(graph: GraphBuilder, logits: str, mask: str) -> str:
    masked = graph.op("Where", mask, logits, graph.constant(FORBIDDEN, np.float32))
    return graph.op("LogSoftmax", masked, axis=-1)


def _end_log_probs(inputs: HeadInputs, starts: str, mask: str) -> str:
    """Log-probability [B, K, S] of each position as end, for each of `starts`."""
    graph, model, hidden = inputs.graph, inputs.model, inputs.model.config.hidden_size
    indices = graph.op("Unsqueeze", starts, graph.constant([2]))
    start_states = graph.reshape(graph.op("GatherND", inputs.by_row, indices, batch_dims=1), -1, hidden)
    whole = Dense.of("end_dense", model.end_dense)
    of_state = Dense("end_dense.state", whole.weight[:, :hidden], None)
    of_start = Dense("end_dense.start", whole.weight[:, hidden:], whole.bias)
    sequences = inputs.sequences
    states = graph.reshape(inputs.weights.dense(graph, inputs.states, of_state), sequences.batch, 1, -1, hidden)
    chosen = graph.reshape(inputs.weights.dense(graph, start_states, of_start), sequences.batch, -1, 1, hidden)
    x = norm(graph, graph.op("Tanh", graph.op("Add", states, chosen)), "end_norm", model.end_norm)
    logits = inputs.classifier(graph.reshape(x, -1, hidden), "end", model.end)
    logits = graph.reshape(logits, sequences.batch, -1, sequences.length)
    return _masked_log_softmax(graph, logits, mask)


def _impossible_logits(inputs: HeadInputs, starts: str) -> str:
    """No-answer logit [B], from the expected start state and the first position."""
    graph, model = inputs.graph, inputs.model
    probabilities = graph.op("Unsqueeze", graph.op("Exp", starts), graph.constant([1]))
    expected = graph.op("Squeeze", graph.op("MatMul", probabilities, inputs.by_row), graph.constant([1]))
    features = graph.op("Concat", expected, inputs.first(), axis=1)
    hidden = graph.op("Tanh", inputs.dense(features, "answer_dense", model.answer_dense))
    return graph.op("Squeeze", inputs.classifier(hidden, "answer", model.answer), graph.constant([1]))


def _by_token(inputs: HeadInputs, x: str, width: int) -> Output:
    """[B · S, width] as [B, S, width]."""
    sequences = inputs.sequences
    shaped = inputs.graph.reshape(x, sequences.batch, sequences.length, width)
    return Output(shaped, ("batch", "sequence", width))


HEADS: Final[dict[str, Callable[[HeadInputs], Outputs]]] = {
    "ForPretraining": pretraining_logits,
    "ForMaskedLM": mlm_logits,
    "ForSequenceClassification": sequence_logits,
    "ForMultipleChoice": choice_logits,
    "ForTokenClassification": token_logits,
    "ForQuestionAnswering": span_logits,
    "ForQuestionAnsweringWithNoAnswer": answer_beams,
    "SentenceEmbedder": lambda inputs: {},  # nothing besides the outputs of the encoder
}
