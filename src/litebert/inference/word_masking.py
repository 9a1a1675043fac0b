"""How sentences are scored. Imports no torch, as settings need it."""

from typing import Literal

Scoring = Literal["pseudo_log_likelihood", "causal"]
"""`pseudo_log_likelihood`: each token from all others; `causal`: each token from those before it."""
Masking = Literal["token", "word_left_to_right", "whole_word"]
"""Which tokens of the own word are masked besides the predicted one: none (Salazar et al.), those to the right
(PLL-word-l2r), or all (PLL-whole-word)."""
