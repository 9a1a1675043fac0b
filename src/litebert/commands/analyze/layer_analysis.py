"""`analyze layers`: distance and angle between the input and the output of each layer, as in figure 1 of the paper."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import cosine_similarity

from litebert.analysis.plots import Panel, line_panels
from litebert.commands.analyze.layers_settings import LayersRun
from litebert.commands.result import Result
from litebert.corpus.format.matching_corpus import open_matching_corpus
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.pretrain_batches import PretrainBatches
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.inference.pretraining_record import recorded_sampling
from litebert.model.encoder import Encoder, encoder_of
from litebert.model.io.hub import model_directory
from litebert.model.io.model_directory import load_model, spec_of
from litebert.model.io.model_spec import ModelSpec

MAX_LENGTH = 128
"""Tokens in an example, if all models have as many positions."""


@dataclass(frozen=True)
class LayerTransitions:
    """Means over tokens, for each of the N layers."""

    distances: tuple[float, ...]
    """L2 distance between input and output of the layer."""
    angles: tuple[float, ...]
    """Angle between them in degrees: the paper's cosine similarity "in terms of degree"."""


@torch.inference_mode()
def layer_transitions(model: nn.Module, batches: PretrainBatches) -> LayerTransitions:
    """L2 distance and angle between the input and the output of every layer, over the tokens of the first batch.

    Of a pre-norm model they are those of the residual stream: the final norm is no part of the last layer.
    """
    (batch,) = batches.microbatches(0)
    encoder = encoder_of(model).eval()
    with _without_final_norm(encoder):
        output = encoder(batch.input_ids, batch.attention_mask, batch.token_type_ids, output_hidden_states=True)
    of_layers = output.hidden_states[:: encoder.config.inner_group_num]
    states = [state[batch.attention_mask].double() for state in of_layers]
    distances, angles = [], []
    for before, after in pairwise(states):
        cosine = cosine_similarity(before, after, dim=-1).clamp(-1, 1)
        distances.append(float((after - before).norm(dim=-1).mean()))
        angles.append(float(torch.rad2deg(torch.arccos(cosine)).mean()))
    return LayerTransitions(tuple(distances), tuple(angles))


@contextmanager
def _without_final_norm(encoder: Encoder) -> Iterator[None]:
    final_norm, encoder.final_norm = encoder.final_norm, nn.Identity()
    try:
        yield
    finally:
        encoder.final_norm = final_norm


@dataclass(frozen=True)
class LayersResult(Result):
    """The transitions of some models, and their picture."""

    picture: Path
    models: dict[str, LayerTransitions]

    def to_text(self) -> str:
        """A line for each layer of each model."""
        lines = [f"{self.picture}: {len(self.models)} model(s)"]
        for name, found in self.models.items():
            lines += [name, "  layer  L2 distance  angle (degrees)"]
            pairs = zip(found.distances, found.angles, strict=True)
            lines += [f"  {layer:>5}  {step:>11.3f}  {angle:>15.2f}" for layer, (step, angle) in enumerate(pairs, 1)]
        return "\n".join(lines)


def layers(run: LayersRun) -> LayersResult:
    """Measure the models on examples of the validation split of the corpus, and draw both curves.

    The examples of each model are drawn as in its pretraining: one that never saw two segments gets one.
    """
    corpus = Corpus.open(run.corpus, "validation")
    directories = {source: model_directory(source) for source in run.models}
    for directory in directories.values():
        open_matching_corpus(run.corpus, "validation", model=directory)
    models = {source: load_model(directory) for source, directory in directories.items()}
    positions = min(spec_of(model).config.max_position_embeddings for model in models.values())
    found = {}
    for name, model in models.items():
        sampling = _sampling(directories[name], spec_of(model), most=min(MAX_LENGTH, positions))
        batches = PretrainBatches(corpus, sampling, batch_size=run.examples, microbatch_size=run.examples, seed=0)
        found[name] = layer_transitions(model, batches)
    line_panels(layer_panels(found), run.out, title="Input and output of each layer")
    return LayersResult(run.out, found)


def _sampling(model: Path, spec: ModelSpec, *, most: int) -> SamplingSettings:
    """Masked examples as in the pretraining of a model, of at most `most` tokens."""
    recorded = recorded_sampling(model, spec)
    masked = {"max_length": min(most, recorded["max_length"]), "causal_fraction": 0.0, "packing": False}
    return SamplingSettings.parse({**recorded, **masked}, where=str(model))


def layer_panels(transitions: Mapping[str, LayerTransitions]) -> list[Panel]:
    """Charts of the distances and of the angles of some models, by their names."""
    layers = {name: list(range(1, len(each.distances) + 1)) for name, each in transitions.items()}
    return [
        Panel("layer", "L2 distance", {name: (layers[name], each.distances) for name, each in transitions.items()}),
        Panel("layer", "angle (degrees)", {name: (layers[name], each.angles) for name, each in transitions.items()}),
    ]
