"""LAMB, with and without bias correction and layer adaptation."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor
from torch.distributed.tensor import DTensor


class Lamb(torch.optim.Optimizer):
    """Adam with layer-wise adaptation of the learning rate; each parameter tensor is a layer.

    `layer_adaptation=False` leaves out the trust ratio, which makes it AdamW. `bias_correction=False` is what ALBERT
    was trained with. Both can differ between parameter groups. Under FSDP2 the norms are those of full parameters.
    Source: `LAMBOptimizer` in google-research/albert, lamb_optimizer.py; with bias correction, algorithm 2 of
    arXiv 1904.00962v5 (its φ the identity).
    """

    def __init__(
        self,
        params: Iterable[Any],
        *,
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.01,
        layer_adaptation: bool = True,
        bias_correction: bool = False,
    ) -> None:
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**defaults, "layer_adaptation": layer_adaptation, "bias_correction": bias_correction})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns what `closure` returns."""
        loss = None if closure is None else torch.enable_grad()(closure)()
        for group in self.param_groups:
            parameters = [parameter for parameter in group["params"] if parameter.grad is not None]
            for batch in _batches(parameters):
                self._update(batch, group)
        return loss

    def _update(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        weights = [_local(parameter) for parameter in parameters]
        updates = self._directions(parameters, group)
        if group["weight_decay"]:
            torch._foreach_add_(updates, weights, alpha=group["weight_decay"])
        if group["layer_adaptation"]:
            ratios = _trust_ratios(_norms(weights, parameters), _norms(updates, parameters))
            torch._foreach_mul_(updates, list(ratios.unbind()))
        torch._foreach_add_(weights, updates, alpha=-group["lr"])

    def _directions(self, parameters: list[Tensor], group: dict[str, Any]) -> list[Tensor]:
        """M ÷ (√v + eps), one new tensor for each parameter."""
        beta1, beta2 = group["betas"]
        states = [self._state_of(parameter) for parameter in parameters]
        gradients = [_local(parameter.grad) for parameter in parameters if parameter.grad is not None]
        m = [_local(state["exp_avg"]) for state in states]
        v = [_local(state["exp_avg_sq"]) for state in states]
        torch._foreach_lerp_(m, gradients, 1 - beta1)
        torch._foreach_mul_(v, beta2)
        torch._foreach_addcmul_(v, gradients, gradients, 1 - beta2)
        denom = torch._foreach_sqrt(v)
        steps = [state["step"] for state in states]
        torch._foreach_add_(steps, 1)
        if group["bias_correction"]:
            torch._foreach_div_(denom, [_correction(beta2, step).sqrt() for step in steps])
        torch._foreach_add_(denom, group["eps"])
        if group["bias_correction"]:
            torch._foreach_mul_(denom, [_correction(beta1, step) for step in steps])
        # In place, m · (1 ÷ denom) instead of m ÷ denom: new memory would cost more than the arithmetic.
        torch._foreach_reciprocal_(denom)
        torch._foreach_mul_(denom, m)
        return list(denom)

    def _state_of(self, parameter: Tensor) -> dict[str, Tensor]:
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), device=parameter.device)
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
        return state


def _batches(parameters: list[Tensor]) -> list[list[Tensor]]:
    """Parameters to update at once: all on an accelerator, for few launches; one on a CPU, for little memory."""
    if parameters and parameters[0].device.type != "cpu":
        return [parameters]
    return [[parameter] for parameter in parameters]


def _correction(beta: float, step: Float[Tensor, ""]) -> Float[Tensor, ""]:
    """1 - beta ** step, without the cancellation that costs float32 four digits at step 1."""
    return -torch.expm1(step * math.log(beta)) if beta > 0 else torch.ones_like(step)


def _trust_ratios(weight_norms: Float[Tensor, " N"], update_norms: Float[Tensor, " N"]) -> Float[Tensor, " N"]:
    """‖weight‖ ÷ ‖update‖, and 1 where either norm is zero."""
    both = (weight_norms > 0) & (update_norms > 0)
    return torch.where(both, weight_norms / update_norms, 1.0)


def _norms(shards: list[Tensor], parameters: list[Tensor]) -> Float[Tensor, " N"]:
    """Euclidean norms of full tensors, of which `shards` are the parts of this process."""
    norms = torch.stack(torch._foreach_norm(shards))
    first = parameters[0]
    if not isinstance(first, DTensor):
        return norms
    squares = norms.square()
    dist.all_reduce(squares, group=first.device_mesh.get_group())
    return squares.sqrt()


def _local(tensor: Tensor) -> Tensor:
    """The shard of `tensor` that this process holds, sharing its memory."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor
