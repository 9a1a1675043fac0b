"""What the heads of the models read of an encoder: states, vectors of sequences, states at positions."""

from collections.abc import Callable
from typing import Final

from jaxtyping import Float, Int
from torch import Tensor

from litebert.model.config import Pooling
from litebert.model.encoder import Encoder
from litebert.model.model_inputs import ModelInputs
from litebert.model.outputs import EncoderOutput
from litebert.model.shapes import Mask, States

Tensors = tuple[Tensor, ...]


def mean_of_tokens(states: States, mask: Mask) -> Float[Tensor, "B H"]:
    """Mean of the hidden states where `mask` is True; zeros if it never is."""
    summed = states.masked_fill(~mask[..., None], 0).sum(1)
    return summed / mask.sum(1, keepdim=True).clamp(min=1)


POOLERS: Final[dict[Pooling, Callable[[Tensor, Tensor], Tensor]]] = {
    "mean": mean_of_tokens,
    "cls": lambda states, mask: states[:, 0],
}


def pooled(
    encoder: Encoder, inputs: ModelInputs, hidden_states: bool, attentions: bool
) -> tuple[Float[Tensor, "B H"], Tensors, Tensors]:
    """The vector of each sequence, hidden states and attentions.

    Where only the first position is read, the last block computes no others.
    """
    pooling = encoder.config.classifier_pooling
    if pooling == "cls" and not (hidden_states or attentions):
        return encoder.pooled(*inputs), (), ()
    output, probabilities = encoded(encoder, inputs, hidden_states, attentions)
    vectors = POOLERS[pooling](output.last_hidden_state, inputs.attention_mask)
    return encoder.pool(vectors), output.hidden_states, probabilities


def encoded(
    encoder: Encoder, inputs: ModelInputs, hidden_states: bool, attentions: bool
) -> tuple[EncoderOutput, Tensors]:
    """The output of the encoder, and the attention probabilities of its blocks if they are asked for."""
    output = encoder(*inputs, output_hidden_states=hidden_states or attentions)
    if not attentions:
        return output, ()
    probabilities = encoder.attention_probabilities(output, inputs.attention_mask)
    return output if hidden_states else output._replace(hidden_states=()), probabilities


def at_positions(states: States, positions: Int[Tensor, " P"]) -> Float[Tensor, "P H"]:
    """Hidden states at flat positions b·S + s."""
    return states.flatten(0, 1).index_select(0, positions)
