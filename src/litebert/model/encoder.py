"""The encoder of every variant: embeddings, projection, and a loop over the sharing schedule. After: `heads.py`.

How it computes is set from outside, on the object, and never stored: `attention_kernel`, `checkpoint_every`,
`compile_blocks`.
"""

from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from litebert.errors import DataError
from litebert.model.config import ModelConfig
from litebert.model.kernels.layout import LAYOUTS, AttentionKernel, Layout, default_kernel
from litebert.model.layers.attention import Attention, FusedQKV
from litebert.model.layers.embeddings import Embeddings
from litebert.model.layers.feed_forward import FeedForward
from litebert.model.layers.lora_settings import LoRASettings
from litebert.model.outputs import EncoderOutput
from litebert.model.shapes import Starts
from litebert.model.sharing_schedule import Schedule, sharing_schedule, stored_blocks


class Encoder(nn.Module):
    """ALBERT of any sharing, or BERT: the config decides which blocks are stored and when each runs.

    Source: `AlbertModel` in the original modeling.py.
    """

    attention_kernel: AttentionKernel | None
    """How attention is computed; every kernel gives the same numbers at the real tokens. None: `default_kernel`."""
    checkpoint_every: int | None
    """Keep activations at every so many blocks and compute the others again in the backward pass; None: keep all."""

    adapters: LoRASettings | None
    """Of the adapters that `adapters.py` attached, if any."""

    def __init__(self, config: ModelConfig, *, pooler: bool = True) -> None:
        super().__init__()
        self.config = config
        self.schedule = sharing_schedule(config)
        attentions, feed_forwards = stored_blocks(config)
        self.embeddings = Embeddings(config)
        projection = nn.Linear(config.embedding_size, config.hidden_size) if config.has_projection else nn.Identity()
        self.projection = projection
        self.attentions = nn.ModuleList(Attention(config) for _ in range(attentions))
        self.feed_forwards = nn.ModuleList(FeedForward(config) for _ in range(feed_forwards))
        self.pooler = nn.Linear(config.hidden_size, config.hidden_size) if pooler else None
        self.attention_kernel = None
        self.checkpoint_every = None
        self.adapters = None
        self._run_block = run_block

    def forward(
        self,
        input_ids: Int[Tensor, "B S"],
        attention_mask: Bool[Tensor, "B S"],
        token_type_ids: Int[Tensor, "B S"],
        sequence_starts: Starts | None = None,
        *,
        output_hidden_states: bool = False,
    ) -> EncoderOutput:
        """Vectors of every token and of every sequence; a fully masked sequence gives finite ones without meaning.

        With `sequence_starts` a row may hold several examples: each counts as a sequence, and gives what it gives alone.
        """
        layout, embedded, x = self._embed(input_ids, attention_mask, token_type_ids, sequence_starts)
        joined = self._joined()
        states = [x]
        for segment in self._segments(self.schedule):
            outputs = self._run(segment, x, layout, joined)
            x = outputs[-1]
            if output_hidden_states:
                states.extend(outputs)
        last = layout.unpack(x)
        pooled = self.pool(last[:, 0] if sequence_starts is None else last.flatten(0, 1)[sequence_starts])
        if not output_hidden_states:
            return EncoderOutput(last, pooled)
        grids = tuple(layout.unpack(state) for state in states)
        return EncoderOutput(last, pooled, grids, layout.unpack(embedded))

    def at_positions(
        self,
        input_ids: Int[Tensor, "B S"],
        attention_mask: Bool[Tensor, "B S"],
        token_type_ids: Int[Tensor, "B S"],
        positions: Int[Tensor, " P"],
        sequence_starts: Starts | None = None,
    ) -> Float[Tensor, "P H"]:
        """As `forward`, the vectors at the flat positions b·S + s alone: the last block computes no others."""
        layout, _, x = self._embed(input_ids, attention_mask, token_type_ids, sequence_starts)
        joined = self._joined()
        for segment in self._segments(self.schedule[:-1]):
            x = self._run(segment, x, layout, joined)[-1]
        return self._run(self.schedule[-1:], x, layout, joined, positions)[-1][0]

    def pooled(
        self,
        input_ids: Int[Tensor, "B S"],
        attention_mask: Bool[Tensor, "B S"],
        token_type_ids: Int[Tensor, "B S"],
    ) -> Float[Tensor, "B H"]:
        """As `forward`, the vectors of the sequences alone: the last block computes their first positions only."""
        return self.pool(self.at_positions(input_ids, attention_mask, token_type_ids, rows_of(input_ids)))

    def pool(self, first: Float[Tensor, "X H"]) -> Float[Tensor, "X H"]:
        """One vector a sequence, from that of its first position."""
        return first if self.pooler is None else torch.tanh(self.pooler(first))

    def attention_probabilities(
        self, output: EncoderOutput, attention_mask: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B A S S"], ...]:
        """Attention probabilities of every block that ran, from an output that holds its hidden states."""
        blocks = (cast(Attention, self.attentions[attention]) for attention, _ in self.schedule)
        inputs = output.hidden_states[:-1]
        return tuple(block.probabilities(x, attention_mask) for block, x in zip(blocks, inputs, strict=True))

    def compile_blocks(
        self, *, backend: str = "inductor", mode: str | None = None, dynamic: bool | None = None
    ) -> None:
        """Compile one block with `torch.compile` and run it as a loop: the cost does not grow with depth."""
        self._run_block = torch.compile(run_block, backend=backend, mode=mode, dynamic=dynamic)

    def _check_length(self, length: int) -> None:
        longest = self.config.max_position_embeddings
        if length > longest:
            raise DataError(
                f"input_ids: {length} tokens in a sequence, the model has {longest} positions; truncate the text"
            )

    def _embed(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, sequence_starts: Tensor | None
    ) -> tuple[Layout, Tensor, Tensor]:
        """The layout of the batch, its embeddings, and what the first block reads."""
        self._check_length(input_ids.shape[1])
        row = input_ids.shape[1] * self.config.hidden_size
        kernel = self.attention_kernel or default_kernel(attention_mask.device, training=self.training, row=row)
        layout = LAYOUTS[kernel](attention_mask, sequence_starts)
        embedded = self.embeddings(layout.pack(input_ids), layout.pack(token_type_ids), layout.positions)
        # under autocast the residual stream stays in 32 bits
        return layout, embedded, self.projection(embedded).to(embedded.dtype)

    def _joined(self) -> list[FusedQKV | None]:
        learns = torch.is_grad_enabled()
        return [cast(Attention, attention).joined() if learns else None for attention in self.attentions]

    def _segments(self, schedule: Schedule) -> list[Schedule]:
        """The schedule, cut where activations are kept."""
        size = self.checkpoint_every or 1
        return [schedule[start : start + size] for start in range(0, len(schedule), size)]

    def _run(
        self, segment: Schedule, x: Tensor, layout: Layout, joined: list[FusedQKV | None], at: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        if self.checkpoint_every and torch.is_grad_enabled():
            arguments = (segment, x, layout, joined, at)
            return cast(tuple[Tensor, ...], checkpoint(self._run_segment, *arguments, use_reentrant=False))
        return self._run_segment(segment, x, layout, joined, at)

    def _run_segment(
        self, segment: Schedule, x: Tensor, layout: Layout, joined: list[FusedQKV | None], at: Tensor | None
    ) -> tuple[Tensor, ...]:
        outputs = []
        for attention, feed_forward in segment:
            blocks = self.attentions[attention], self.feed_forwards[feed_forward]
            x = self._run_block(*blocks, x, layout, joined[attention], at)
            outputs.append(x)
        return tuple(outputs)


def rows_of(input_ids: Int[Tensor, "B S"]) -> Int[Tensor, " B"]:
    """Flat position at which each row begins."""
    rows, length = input_ids.shape
    return torch.arange(rows, device=input_ids.device) * length


def run_block(
    attention: nn.Module,
    feed_forward: nn.Module,
    x: Float[Tensor, "B S H"],
    layout: Layout,
    joined: FusedQKV | None,
    at: Int[Tensor, " P"] | None,
) -> Float[Tensor, "B2 S2 H"]:
    """One block: attention, then feed-forward."""
    return feed_forward(attention(x, layout, joined, at))
