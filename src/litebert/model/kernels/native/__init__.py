"""Kernels in C++ for training and inference on a CPU, compiled by this machine's own compiler for its own processor.

`library.py` compiles `sources/` and loads the result; the other modules are operations that use it, with gradients
except for `int8_rows.py`. Each does in one pass over the memory what takes torch several, and computes in 32 bits
between reading and writing. Where there is no compiler, or for other devices and dtypes, the operations of torch in the
package above are used. What it gains: docs/results/performance.md.
"""
