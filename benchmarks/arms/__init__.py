"""Arms of ladder.py. Before: a recipe. After: the ladder and its table."""
