"""Heads whose query and key are not trained."""

from functools import partial
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.utils.weak import WeakIdKeyDictionary

from litebert.model.encoder import Encoder


def freeze_heads(model: nn.Module, count: int) -> None:
    """Freeze query and key of the last `count` heads of every attention block of `model.encoder`, in place.

    Hooks zero the rows of these heads in the gradients of `query` and `key`; outputs and all other gradients are
    unchanged. The hooks sit on the parameters that the forward pass uses and are added before each forward pass where
    they are missing, because FSDP replaces parameters. Weight decay still applies. Not saved with the model.
    """
    masked = WeakIdKeyDictionary()

    def add_hooks(module: nn.Module, arguments: object) -> None:
        encoder = cast(Encoder, module.encoder)
        hook = partial(_zero_last_rows, rows=count * encoder.config.head_size)
        for layer in (getattr(block, name) for block in encoder.attentions for name in ("query", "key")):
            for parameter in layer.parameters():
                if parameter not in masked and parameter.requires_grad:
                    masked[parameter] = parameter.register_hook(hook)

    model.register_forward_pre_hook(add_hooks)


def _zero_last_rows(gradient: Float[Tensor, "*shape"], *, rows: int) -> Float[Tensor, "*shape"]:
    trained = len(gradient) - rows
    return torch.cat([gradient[:trained], torch.zeros_like(gradient[trained:])])
