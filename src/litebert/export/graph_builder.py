"""`GraphBuilder`: nodes and initializers of an ONNX graph, with names made for them."""

from itertools import count
from typing import Any, Final

import numpy as np

OPSET: Final = 20
IR_VERSION: Final = 10
"""Versions of the ONNX format; the newest features used are Gelu and overridable initializers."""


class GraphBuilder:
    """Nodes in the order in which they run. The builder of a loop body shares the initializers of its outer graph."""

    def __init__(self, outer: "GraphBuilder | None" = None) -> None:
        self.nodes: list[Any] = []
        self.initializers: dict[str, np.ndarray] = {} if outer is None else outer.initializers
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {} if outer is None else outer._constants
        self._numbers = count() if outer is None else outer._numbers

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output and return the name of the output."""
        return self.ops(kind, 1, *inputs, **attributes)[0]

    def ops(self, kind: str, outputs: int, *inputs: str, **attributes: Any) -> list[str]:
        """Add a node with several outputs and return their names."""
        from onnx import helper

        number = next(self._numbers)
        names = [f"{kind}_{number}.{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=f"{kind}_{number}", **attributes))
        return names

    def weight(self, name: str, value: Any) -> str:
        """An initializer, which is stored once however often it is added."""
        if name not in self.initializers:
            self.initializers[name] = np.asarray(value, order="C")
        return name

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        """A small initializer, whose name does not matter."""
        array = np.asarray(value, dtype=dtype)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = self.weight(f"constant_{len(self._constants)}", array)
        return self._constants[key]

    def reshape(self, x: str, *sizes: str | int) -> str:
        """`x` with other axes; a size is a number or the name of an Int64 [1] tensor."""
        if all(isinstance(size, int) for size in sizes):
            return self.op("Reshape", x, self.constant(sizes))
        return self.op("Reshape", x, self.shape(*sizes))

    def shape(self, *sizes: str | int) -> str:
        """A tensor of sizes, each a number or the name of an Int64 [1] tensor."""
        return self.op("Concat", *(self.constant([each]) if isinstance(each, int) else each for each in sizes), axis=0)

    def loop(self, body: "GraphBuilder", trips: str, *, state: str, iteration: str, inner: str, result: str) -> str:
        """Run `body` several times on `state`, a float matrix; returns the last `result`, or `state` for no trips.

        Args:
            body: nodes from `inner` to `result`.
            trips: Int64 scalar.
            state: before the first iteration.
            iteration: name of the number of the iteration inside the body, Int64 scalar.
            inner: name of the state inside the body.
            result: name of the next state inside the body.
        """
        from onnx import TensorProto, helper

        condition, again = f"{inner}.condition", f"{inner}.again"
        nodes = [*body.nodes, helper.make_node("Identity", [condition], [again])]
        inputs = [
            helper.make_tensor_value_info(iteration, TensorProto.INT64, []),
            helper.make_tensor_value_info(condition, TensorProto.BOOL, []),
            helper.make_tensor_value_info(inner, TensorProto.FLOAT, [None, None]),
        ]
        outputs = [
            helper.make_tensor_value_info(again, TensorProto.BOOL, []),
            helper.make_tensor_value_info(result, TensorProto.FLOAT, [None, None]),
        ]
        return self.op("Loop", trips, "", state, body=helper.make_graph(nodes, "block", inputs, outputs))

    def tensors(self) -> list[Any]:
        """The initializers as ONNX tensors."""
        from onnx import numpy_helper

        return [numpy_helper.from_array(value, name) for name, value in self.initializers.items()]
