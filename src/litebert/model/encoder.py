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
from litebert.model.attention import Attention
from litebert.model.config import ModelConfig
from litebert.model.embeddings import Embeddings
from litebert.model.feed_forward import FeedForward
from litebert.model.layout import LAYOUTS, AttentionKernel, Layout
from litebert.model.outputs import EncoderOutput
from litebert.model.schedule import Schedule, sharing_schedule, stored_blocks
from litebert.model.shapes import Starts


class Encoder(nn.Module):
    """ALBERT of any sharing, or BERT: the config decides which blocks are stored and when each runs.

    Source: `AlbertModel` in the original modeling.py.
    """

    attention_kernel: AttentionKernel
    """How attention is computed; every kernel gives the same numbers at the real tokens."""
    checkpoint_every: int | None
    """Keep activations at every so many blocks and compute the others again in the backward pass; None: keep all."""

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
        self.attention_kernel = "sdpa"
        self.checkpoint_every = None
        self._run_block = run_block

    def forward(
        self,
        input_ids: Int[Tensor, "B S"],
        attention_mask: Bool[Tensor, "B S"],
        token_type_ids: Int[Tensor, "B S"],
        example_starts: Starts | None = None,
        *,
        output_hidden_states: bool = False,
    ) -> EncoderOutput:
        """Vectors of every token and of every sequence; a fully masked sequence gives finite ones without meaning.

        With `example_starts` a row may hold several examples: each counts as a sequence, and gives what it gives alone.
        """
        self._check_length(input_ids.shape[1])
        layout = LAYOUTS[self.attention_kernel](attention_mask, example_starts)
        embedded = self.embeddings(layout.pack(input_ids), layout.pack(token_type_ids), layout.positions)
        x = self.projection(embedded).to(embedded.dtype)  # under autocast the residual stream stays in 32 bits
        states = [x]
        for segment in self._segments():
            outputs = self._run(segment, x, layout)
            x = outputs[-1]
            if output_hidden_states:
                states.extend(outputs)
        last = layout.unpack(x)
        if not output_hidden_states:
            return EncoderOutput(last, self.pool(last, example_starts))
        grids = tuple(layout.unpack(state) for state in states)
        return EncoderOutput(last, self.pool(last, example_starts), grids, layout.unpack(embedded))

    def pool(self, states: Float[Tensor, "B S H"], example_starts: Starts | None = None) -> Float[Tensor, "X H"]:
        """One vector a sequence, from its first position."""
        first = states[:, 0] if example_starts is None else states.flatten(0, 1)[example_starts]
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

    def _segments(self) -> list[Schedule]:
        """The schedule, cut where activations are kept."""
        size = self.checkpoint_every or 1
        return [self.schedule[start : start + size] for start in range(0, len(self.schedule), size)]

    def _run(self, segment: Schedule, x: Tensor, layout: Layout) -> tuple[Tensor, ...]:
        if self.checkpoint_every and torch.is_grad_enabled():
            return cast(tuple[Tensor, ...], checkpoint(self._run_segment, segment, x, layout, use_reentrant=False))
        return self._run_segment(segment, x, layout)

    def _run_segment(self, segment: Schedule, x: Tensor, layout: Layout) -> tuple[Tensor, ...]:
        outputs = []
        for attention, feed_forward in segment:
            x = self._run_block(self.attentions[attention], self.feed_forwards[feed_forward], x, layout)
            outputs.append(x)
        return tuple(outputs)


def run_block(
    attention: nn.Module, feed_forward: nn.Module, x: Float[Tensor, "B S H"], layout: Layout
) -> Float[Tensor, "B S H"]:
    """One block: attention, then feed-forward."""
    return feed_forward(attention(x, layout))
