"""Blocks of few rows, such as those of a single text, in one call of the compiled kernels."""

from typing import Final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from litebert.model.config import Activation
from litebert.model.encoder import run_block
from litebert.model.kernels.layout import UnpaddedLayout
from litebert.model.kernels.native.activations import Form
from litebert.model.kernels.native.library import native_library
from litebert.model.kernels.native.packed_block import PackedBlock, Parameters, native_block
from litebert.model.layers.block import BlockInputs
from litebert.model.layers.layer_norm import LayerNorm
from litebert.model.prepacked.prepacked_layers import PrepackedAttention, PrepackedFeedForward
from litebert.model.prepacked.prepacked_linear import FEW_ROWS, PrepackedLinear

FORMS: Final[dict[Activation, Form]] = {"gelu": "gelu", "gelu_new": "gelu_tanh"}


class BlockRunner:
    """Runs prepacked blocks as `run_block` does; few rows in one call, where the kernels have all of its operations."""

    def __init__(self, activation: Activation) -> None:
        self._form = FORMS.get(activation)
        self._packed: dict[tuple[nn.Module, nn.Module], PackedBlock | None] = {}

    def __call__(
        self, attention: nn.Module, feed_forward: nn.Module, x: Float[Tensor, "B S H"], inputs: BlockInputs
    ) -> Float[Tensor, "B2 S2 H"]:
        """The output of the block."""
        layout, rows = inputs.layout, x.shape[:-1].numel()
        if 0 < rows <= FEW_ROWS and inputs.positions is None and isinstance(layout, UnpaddedLayout):
            block = self._block(attention, feed_forward)
            if block and x.dtype == torch.float32 and (library := native_library(x)):
                return native_block(library, block, x, layout.lengths, inputs.rotation, causal=layout.causal)
        return run_block(attention, feed_forward, x, inputs)

    def _block(self, attention: nn.Module, feed_forward: nn.Module) -> PackedBlock | None:
        """The block as the kernels read it; None where they cannot."""
        key = attention, feed_forward
        if key not in self._packed:
            prepacked = isinstance(attention, PrepackedAttention) and isinstance(feed_forward, PrepackedFeedForward)
            self._packed[key] = _packed(attention, feed_forward, self._form) if prepacked and self._form else None
        return self._packed[key]


def _packed(attention: PrepackedAttention, feed_forward: PrepackedFeedForward, form: Form) -> PackedBlock | None:
    gate = [] if feed_forward.gate is None else [feed_forward.gate]
    dense = attention.query_key_value, attention.output, *gate, feed_forward.up, feed_forward.down
    norms = attention.norm, feed_forward.norm
    if attention.heads[1] % 2 or not all(map(_has_panels, dense)) or not all(map(_has_parameters, norms)):
        return None
    query_key_value, output, *gates, up, down = [(each.panels, each.bias) for each in dense]
    attention_norm, norm = [(each.weight.detach(), each.bias.detach()) for each in norms]
    layers: list[Parameters] = [query_key_value, output, attention_norm, *(gates or [(None, None)]), up, down, norm]
    return PackedBlock.of(
        layers,
        heads=attention.heads,
        inner=feed_forward.up.outputs,
        epsilon=attention.norm.eps,
        norm_first=attention.norm_first,
        form=form,
    )


def _has_panels(dense: object) -> bool:
    return isinstance(dense, PrepackedLinear) and dense.panels is not None


def _has_parameters(norm: LayerNorm) -> bool:
    return all(each is not None and each.dtype == torch.float32 for each in (norm.weight, norm.bias))
