"""Which tokens are masked when a sentence is scored by pseudo-log-likelihood. Imports no torch, as settings need it."""

from typing import Literal

Masking = Literal["token", "word_left_to_right", "whole_word"]
"""Which tokens of the own word are masked besides the predicted one: none (Salazar et al.), those to the right
(PLL-word-l2r), or all (PLL-whole-word)."""
