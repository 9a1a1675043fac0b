"""Initial weights: random, or structured from corpus statistics. Before: a model just built. After: training."""
