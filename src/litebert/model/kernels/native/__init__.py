"""Kernels in C++ for training on a CPU, compiled by this machine's own compiler for its own processor.

`library.py` compiles `sources/` and loads the result; the other modules are operations with gradients that use it. Each
does in one pass over the memory what takes torch several, and computes in 32 bits between reading and writing. Where
there is no compiler, or for other devices and dtypes, the operations of torch in the package above are used. What it
gains: docs/results/performance.md.
"""
