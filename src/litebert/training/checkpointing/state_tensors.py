"""Model and optimizer as named full tensors, independent of the number of ranks."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from litebert.errors import CheckpointError
from litebert.training.distributed.context import gather_full, shard_like


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and persistent buffers, each once, as full tensors on the CPU; every rank must call."""
    return {name: gather_full(tensor) for name, tensor in _stored(model).items()}


def optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """`<parameter>/<key>` for every tensor of the optimizer state, as full tensors on the CPU; every rank must call."""
    return {
        f"{name}/{key}": gather_full(tensor)
        for name, parameter in model.named_parameters()
        for key, tensor in optimizer.state.get(parameter, {}).items()
    }


@torch.no_grad()
def restore_model(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Load what `model_tensors` returned."""
    stored = _stored(model)
    if missing := stored.keys() ^ tensors.keys():
        raise CheckpointError(
            f"checkpoint: {len(missing)} tensors are in the model or the checkpoint but not in both, such as "
            f"{min(missing)!r}; resume with the model that the run began with"
        )
    for name, target in stored.items():
        target.copy_(shard_like(tensors[name], target))


def restore_optimizer(model: nn.Module, optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Load what `optimizer_tensors` returned."""
    parameters = dict(model.named_parameters())
    optimizer.state.clear()
    for path, value in tensors.items():
        name, _, key = path.rpartition("/")
        optimizer.state[parameters[name]][key] = shard_like(value, parameters[name])


def _stored(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and persistent buffers; a tensor shared under two names only under the first."""
    persistent = model.state_dict(keep_vars=True).keys()
    return {name: tensor for name, tensor in [*model.named_parameters(), *model.named_buffers()] if name in persistent}
