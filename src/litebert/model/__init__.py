"""ALBERT models: one encoder for every variant, and heads. Before: a config. After: training, tasks and inference.

Shapes: `B` batch, `S` sequence, `H` hidden, `E` embedding, `I` intermediate, `A` heads, `D` head size (A·D = H),
`V` vocabulary, `P` masked (predicted) positions, `X` examples, `L` layers, `C` classes or choices, `N` examples.
Masks are bool, True = attend.
"""
