"""Time of the matrix products of a computation by themselves: no step that computes them with torch can be faster."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from measurement import step_times as timing
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

ATTENTION = "_scaled_dot_product_flash_attention_for_cpu"
"""Products of the scores and the softmax between them, in one operator."""
PRODUCTS = {"mm", "addmm", "bmm", "baddbmm", ATTENTION, f"{ATTENTION}_backward"}


@dataclass(frozen=True)
class Shape:
    """What the time of a product depends on."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype

    def example(self) -> Tensor:
        """Random numbers of this shape."""
        tensor = torch.empty_strided(self.size, self.stride, dtype=self.dtype)
        torch.empty(0, dtype=self.dtype).set_(tensor.untyped_storage()).normal_()  # also where strides are 0
        return tensor


Call = tuple[Any, tuple[Any, ...], tuple[tuple[str, Any], ...]]
"""An operator, its arguments and its keyword arguments, with a `Shape` for each tensor."""


def product_flops(run: Callable[[], object]) -> float:
    """Operations of the products of `run`, those of attention on a CPU too, which torch's counter does not know.

    Its backward pass counts twice, as that of other products: scores that it computes again are not needed elsewhere.
    """

    def forward(query: Any, key: Any, value: Any, *others: object, **named: object) -> int:
        return sdpa_flop_count(query, key, value)

    def backward(gradient: Any, query: Any, key: Any, value: Any, *others: object, **named: object) -> int:
        return 2 * sdpa_flop_count(query, key, value)

    aten = torch.ops.aten
    formulas = {getattr(aten, ATTENTION): forward, getattr(aten, f"{ATTENTION}_backward"): backward}
    with FlopCounterMode(display=False, custom_mapping=formulas) as counter:
        run()
    return counter.get_total_flops()


class RecordedProducts(TorchDispatchMode):
    """Counts the matrix products that run, by shape."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[Call] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.overloadpacket.__name__ in PRODUCTS:
            shapes, named = tree_map(_shape, (tuple(args), kwargs or {}))
            self.calls[func, shapes, tuple(sorted(named.items()))] += 1
        return func(*args, **(kwargs or {}))


def product_seconds(run: Callable[[], object], *, seconds: float) -> float:
    """Seconds of the products of `run`, each repeated on the same operands, which are then in the cache if they fit.

    `seconds` is the time to spend on all of them.
    """
    with RecordedProducts() as recorded:
        run()
    each = seconds / max(1, len(recorded.calls))
    return sum(count * _seconds_of(call, each) for call, count in recorded.calls.items())


def _seconds_of(call: Call, seconds: float) -> float:
    function, *shapes = call
    args, named = tree_map(lambda value: value.example() if isinstance(value, Shape) else value, shapes)
    kwargs = dict(named)
    return timing.median_seconds(lambda: function(*args, **kwargs), torch.device("cpu"), seconds=seconds)


def _shape(value: Any) -> Any:
    return Shape(tuple(value.shape), value.stride(), value.dtype) if isinstance(value, Tensor) else value
