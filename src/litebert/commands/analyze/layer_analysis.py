"""`analyze layers`: distance and angle between the input and the output of each layer, as in figure 1 of the paper."""

from dataclasses import dataclass
from pathlib import Path
from typing import cast

from litebert.analysis.layer_transitions import LayerTransitions, layer_transitions
from litebert.analysis.plots import Panel, line_panels
from litebert.commands.analyze.layers_settings import LayersRun
from litebert.commands.result import Result
from litebert.corpus.format.shards import Corpus
from litebert.corpus.sampling.pretrain_batches import PretrainBatches
from litebert.corpus.sampling.sampling_settings import SamplingSettings
from litebert.model.encoder import Encoder
from litebert.model.io.model_directory import load_model
from litebert.model.io.resolve import resolve_model_directory

MAX_LENGTH = 128


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
    """Measure the models on examples of the validation split of the corpus, and draw both curves."""
    batches = PretrainBatches(
        Corpus.open(run.corpus, "validation"),
        SamplingSettings(max_length=MAX_LENGTH),
        batch_size=run.examples,
        microbatch_size=run.examples,
        seed=0,
    )
    (batch,) = batches.microbatches(0)
    inputs = (batch.input_ids, batch.attention_mask, batch.token_type_ids)
    found = {}
    for path in run.models:
        encoder = cast(Encoder, load_model(resolve_model_directory(path)).encoder)
        found[str(path)] = layer_transitions(encoder, *inputs)
    number = {name: list(range(1, len(each.distances) + 1)) for name, each in found.items()}
    panels = [
        Panel("layer", "L2 distance", {name: (number[name], each.distances) for name, each in found.items()}),
        Panel("layer", "angle (degrees)", {name: (number[name], each.angles) for name, each in found.items()}),
    ]
    line_panels(panels, run.out, title="Input and output of each layer")
    return LayersResult(run.out, found)
