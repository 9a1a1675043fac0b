"""How far each layer moves the hidden states: figure 1 of the paper."""

from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn.functional import cosine_similarity

from litebert.model.encoder import Encoder


@dataclass(frozen=True)
class LayerTransitions:
    """Means over tokens, for each of the N layers."""

    distances: tuple[float, ...]
    """L2 distance between input and output of the layer."""
    angles: tuple[float, ...]
    """Angle between them in degrees: the paper's cosine similarity "in terms of degree"."""


@torch.inference_mode()
def layer_transitions(
    encoder: Encoder,
    input_ids: Int[Tensor, "B S"],
    attention_mask: Bool[Tensor, "B S"],
    token_type_ids: Int[Tensor, "B S"],
) -> LayerTransitions:
    """L2 distance and angle between the input and the output of every layer, over the tokens of a batch."""
    encoder.eval()
    output = encoder(input_ids, attention_mask, token_type_ids, output_hidden_states=True)
    states = [state[attention_mask].double() for state in output.hidden_states]
    distances, angles = [], []
    for before, after in pairwise(states):
        cosine = cosine_similarity(before, after, dim=-1).clamp(-1, 1)
        distances.append(float((after - before).norm(dim=-1).mean()))
        angles.append(float(torch.rad2deg(torch.arccos(cosine)).mean()))
    return LayerTransitions(tuple(distances), tuple(angles))
