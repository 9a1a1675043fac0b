"""The ALBERT encoder: embeddings, their projection, and a loop over the sharing schedule.

Settings that change how it is computed, never what, are attributes set from outside and are not saved:
`attention_kernel`, `activation_checkpoint_interval`, `run_block`. `training_schedule` changes what is trained.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from litebert.errors import DataError
from litebert.model.config import ModelConfig
from litebert.model.kernels.layout import LAYOUTS, AttentionKernel, Layout, default_kernel, rounded_up
from litebert.model.kernels.native.library import native_library
from litebert.model.kernels.rotary import rotation_at
from litebert.model.layers.block import (
    NO_UPDATES,
    Attention,
    BlockInputs,
    Embeddings,
    FeedForward,
    RecursionLoRA,
    WeightUpdates,
)
from litebert.model.layers.layer_norm import LayerNorm
from litebert.model.layers.lora_settings import LoRASettings
from litebert.model.outputs import EncoderOutput
from litebert.model.shapes import Starts
from litebert.model.sharing_schedule import Schedule, sharing_schedule, stored_blocks

BlockFunction = Callable[[nn.Module, nn.Module, Tensor, BlockInputs], Tensor]
"""From a stored attention, a stored feed-forward layer, hidden states and further inputs to hidden states."""


class Encoder(nn.Module):
    """ALBERT with any parameter sharing, or BERT: the config decides which blocks are stored and when each one runs.

    Source: `AlbertModel` in modeling.py of google-research/albert.
    """

    attention_kernel: AttentionKernel | None = None
    """How attention is computed; all kernels give the same outputs at the real tokens. None: `default_kernel`."""
    activation_checkpoint_interval: int | None = None
    """Store activations once every this many blocks and recompute the others in the backward pass; None: store all."""
    run_block: BlockFunction
    """What computes one block; by default the function `run_block` of this module."""
    training_schedule: Schedule | None = None
    """What runs in training mode in place of `schedule`, such as its beginning; None: `schedule`. With low-rank updates
    of recursions it is a beginning of `schedule`, because each update is that of one layer."""
    adapters: LoRASettings | None = None
    """Settings of the LoRA adapters that `layers/lora.py` attached, if any."""

    def __init__(self, config: ModelConfig, *, pooler: bool = True) -> None:
        super().__init__()
        self.config = config
        self.schedule = sharing_schedule(config)
        attentions, feed_forwards = stored_blocks(config)
        self.embeddings = Embeddings(config)
        E, H = config.embedding_size, config.hidden_size
        self.projection = nn.Linear(E, H) if config.has_projection else nn.Identity()
        self.attentions = nn.ModuleList(Attention(config) for _ in range(attentions))
        self.feed_forwards = nn.ModuleList(FeedForward(config) for _ in range(feed_forwards))
        updated = self.schedule if config.recursion_lora_rank else ()
        self.recursion_lora = nn.ModuleList(RecursionLoRA(config) for _ in updated)
        self.final_norm = LayerNorm(H, eps=config.layer_norm_eps) if config.norm_first else nn.Identity()
        self.pooler = nn.Linear(H, H) if pooler else None
        self.run_block = run_block

    def forward(
        self,
        input_ids: Int[Tensor, "B S"],
        attention_mask: Bool[Tensor, "B S"],
        token_type_ids: Int[Tensor, "B S"],
        sequence_starts: Starts | None = None,
        *,
        causal: bool = False,
        output_hidden_states: bool = False,
    ) -> EncoderOutput:
        """Hidden states of every token and a pooled vector of every sequence.

        With `sequence_starts` a row may hold several examples: each is a sequence of its own, computed as if alone.
        With `causal` no token attends to a later one.
        The outputs of a fully masked sequence are finite but meaningless.
        """
        layout = self._layout(attention_mask, sequence_starts, causal=causal)
        embedded, x = self._embed(input_ids, token_type_ids, layout)
        schedule, inputs = self._layers(layout)
        outputs = self._block_outputs(schedule, x, inputs)
        states = [x]
        for x in outputs:
            if output_hidden_states:
                states.append(x)
        states[-1] = x = self.final_norm(x)
        last = layout.unpack(x)
        pooled = self.pool(last[:, 0] if sequence_starts is None else last.flatten(0, 1)[sequence_starts])
        if not output_hidden_states:
            return EncoderOutput(last, pooled)
        return EncoderOutput(last, pooled, tuple(layout.unpack(state) for state in states), layout.unpack(embedded))

    def _run_blocks(self, schedule: Schedule, x: Tensor, inputs: Sequence[BlockInputs]) -> Iterator[Tensor]:
        """The loop over the sharing schedule: the output of each block, `feed_forward(attention(x))`, in order."""
        for (attention, feed_forward), block_inputs in zip(schedule, inputs, strict=True):
            x = self.run_block(self.attentions[attention], self.feed_forwards[feed_forward], x, block_inputs)
            yield x

    def at_positions(
        self,
        input_ids: Int[Tensor, "B S"],
        attention_mask: Bool[Tensor, "B S"],
        token_type_ids: Int[Tensor, "B S"],
        positions: Int[Tensor, " P"],
        sequence_starts: Starts | None = None,
        *,
        causal: bool = False,
    ) -> Float[Tensor, "P H"]:
        """`last_hidden_state` of `forward` at the flat positions b·S + s; the last block computes no others."""
        layout = self._layout(attention_mask, sequence_starts, causal=causal)
        _, x = self._embed(input_ids, token_type_ids, layout)
        schedule, (*inputs, last_inputs) = self._layers(layout)
        for output in self._block_outputs(schedule[:-1], x, inputs):
            x = output
        computed = positions
        if self.training and positions.is_cpu:  # position 0 a few times more: see `rounded_up`
            computed = F.pad(positions, (0, rounded_up(len(positions)) - len(positions)))
        (last,) = self._block_outputs(schedule[-1:], x, [last_inputs._replace(positions=computed)])
        return self.final_norm(last[0, : positions.shape[0]])

    def pooled(
        self,
        input_ids: Int[Tensor, "B S"],
        attention_mask: Bool[Tensor, "B S"],
        token_type_ids: Int[Tensor, "B S"],
    ) -> Float[Tensor, "B H"]:
        """`pooled` of `forward`; the last block computes the first position of each sequence only."""
        return self.pool(self.at_positions(input_ids, attention_mask, token_type_ids, row_starts(input_ids)))

    def first_input(
        self,
        index: int,
        input_ids: Int[Tensor, "B S"],
        attention_mask: Bool[Tensor, "B S"],
        token_type_ids: Int[Tensor, "B S"],
    ) -> Float[Tensor, "B S H"]:
        """The input of the first layer that runs the stored attention `index`, without computing that layer."""
        layout = self._layout(attention_mask, None, causal=False)
        _, x = self._embed(input_ids, token_type_ids, layout)
        before = [attention for attention, _ in self.schedule].index(index)
        for output in self._run_blocks(self.schedule[:before], x, self._block_inputs(layout, self.schedule)[:before]):
            x = output
        return layout.unpack(x)

    def first_layer_attention(
        self, input_ids: Int[Tensor, "B S"], attention_mask: Bool[Tensor, "B S"], token_type_ids: Int[Tensor, "B S"]
    ) -> Float[Tensor, "B A S S"]:
        """The first of `attention_probabilities`, without computing a layer."""
        block = cast(Attention, self.attentions[self.schedule[0][0]])
        inputs = self._block_inputs(LAYOUTS["sdpa"](attention_mask), self.schedule)[0]
        states = self.first_input(self.schedule[0][0], input_ids, attention_mask, token_type_ids)
        return block.probabilities(states, attention_mask, inputs)

    def pool(self, states: Float[Tensor, "X H"]) -> Float[Tensor, "X H"]:
        """The pooler's output for one vector per sequence, in ALBERT the hidden state of its first position."""
        return states if self.pooler is None else torch.tanh(self.pooler(states))

    def attention_probabilities(
        self, output: EncoderOutput, attention_mask: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B A S S"], ...]:
        """Attention probabilities of every block that ran; `output` must hold its hidden states."""
        blocks = [cast(Attention, self.attentions[attention]) for attention, _ in self.schedule]
        inputs = self._block_inputs(LAYOUTS["sdpa"](attention_mask), self.schedule)
        read = zip(blocks, output.hidden_states[:-1], inputs, strict=True)
        return tuple(block.probabilities(x, attention_mask, block_inputs) for block, x, block_inputs in read)

    def first_layers(self, layers: int) -> Schedule:
        """The part of the schedule that runs the first `layers` layers."""
        return self.schedule[: layers * self.config.inner_group_num]

    def compile_blocks(self, *, backend: str = "inductor") -> None:
        """Compile one block with `torch.compile` and run it in the loop: compile time does not grow with depth."""
        self.run_block = torch.compile(run_block, backend=backend)

    def _layout(self, attention_mask: Tensor, sequence_starts: Tensor | None, *, causal: bool) -> Layout:
        length, longest = attention_mask.shape[1], self.config.max_position_embeddings
        if length > longest:
            raise DataError(
                f"input_ids: {length} tokens in a sequence, the model has {longest} positions; truncate the text"
            )
        kernel = self.attention_kernel or default_kernel(
            attention_mask.device,
            training=self.training,
            row=length * self.config.hidden_size,
            one_call=not self.config.attention_probs_dropout_prob
            and (torch.is_autocast_enabled("cpu") or (attention_mask.is_cpu and native_library() is not None)),
        )
        return LAYOUTS[kernel](attention_mask, sequence_starts, causal=causal)

    def _embed(self, input_ids: Tensor, token_type_ids: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
        """The embeddings of the batch, and the input of the first block."""
        embedded = self.embeddings(layout.pack(input_ids), layout.pack(token_type_ids), layout.positions)
        # Under autocast the residual stream stays in 32 bits.
        return embedded, self.projection(embedded).to(embedded.dtype)

    def _layers(self, layout: Layout) -> tuple[Schedule, list[BlockInputs]]:
        """The schedule that runs, and the inputs of its blocks."""
        schedule = self.training_schedule if self.training and self.training_schedule else self.schedule
        return schedule, self._block_inputs(layout, schedule)

    def _block_inputs(self, layout: Layout, schedule: Schedule) -> list[BlockInputs]:
        """The inputs of each block that runs; without recursion LoRA, layers that share an attention share them.

        Fused weights too, if gradients are computed: without them, a layer's are freed after it.
        """
        config, rotation = self.config, None
        if config.position_embedding == "rotary":
            rotation = rotation_at(layout.positions, head_size=config.head_size, theta=config.rope_theta)

        def inputs(index: int, updates: WeightUpdates = NO_UPDATES) -> BlockInputs:
            fused_qkv = cast(Attention, self.attentions[index]).fused_qkv(updates) if torch.is_grad_enabled() else None
            return BlockInputs(layout, fused_qkv, rotation=rotation, updates=updates)

        if self.recursion_lora:
            return [inputs(index, lora()) for (index, _), lora in zip(schedule, self.recursion_lora, strict=False)]
        stored = [inputs(index) for index in range(len(self.attentions))]
        return [stored[index] for index, _ in schedule]

    def _block_outputs(self, schedule: Schedule, x: Tensor, inputs: Sequence[BlockInputs]) -> Iterator[Tensor]:
        """`_run_blocks`, which recomputes its activations in the backward pass if checkpointing is on."""
        if not (self.activation_checkpoint_interval and torch.is_grad_enabled()):
            yield from self._run_blocks(schedule, x, inputs)
            return
        for start in range(0, len(schedule), self.activation_checkpoint_interval):
            chunk = slice(start, start + self.activation_checkpoint_interval)
            parts = (schedule[chunk], x, inputs[chunk])
            recomputed = checkpoint(lambda *part: list(self._run_blocks(*part)), *parts, use_reentrant=False)
            outputs = cast(list[Tensor], recomputed)
            x = outputs[-1]
            yield from outputs


def encoder_of(model: nn.Module) -> Encoder:
    """The encoder of any model with a head, which is its attribute `encoder`."""
    encoder = model.encoder
    assert isinstance(encoder, Encoder), type(model).__name__
    return encoder


def row_starts(input_ids: Int[Tensor, "B S"]) -> Int[Tensor, " B"]:
    """Flat position of the first token of each row."""
    rows, length = input_ids.shape
    return torch.arange(rows, device=input_ids.device) * length


def run_block(
    attention: nn.Module, feed_forward: nn.Module, x: Float[Tensor, "B S H"], inputs: BlockInputs
) -> Float[Tensor, "B2 S2 H"]:
    """One block: attention, then feed-forward; a function of its own, so that it can be compiled."""
    return feed_forward(attention(x, inputs), inputs.updates)
