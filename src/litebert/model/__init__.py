"""The ALBERT family: every variant from one encoder. Before: nothing but floor 0. After: everything that needs a model.

Shapes: `B` batch, `S` sequence, `H` hidden, `E` embedding, `I` intermediate, `A` heads, `D` head size (A·D = H),
`V` vocabulary, `P` predicted positions, `L` layers, `C` classes or choices, `N` examples.
Masks are bool, True = attend.
"""
