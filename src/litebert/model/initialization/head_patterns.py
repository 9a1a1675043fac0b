"""Which attention pattern each head is initialized with. Torch-free, so that settings are checked without torch."""


def relative_position_heads(num_heads: int) -> list[int]:
    """Offsets -1, 1, -2, 2, … of the first heads: the previous token, the next token, and so on.

    All heads of a block with fewer than four, otherwise half of them, rounded up.
    """
    count = num_heads if num_heads < 4 else num_heads - num_heads // 2
    return [(-1) ** (head + 1) * (head // 2 + 1) for head in range(count)]


def num_duplicate_token_heads(num_heads: int) -> int:
    """How many heads, the last ones, attend to the same token in the other segment: at most two.

    The heads between them and the relative-position heads keep random weights.
    """
    return min(2, num_heads - len(relative_position_heads(num_heads)))
