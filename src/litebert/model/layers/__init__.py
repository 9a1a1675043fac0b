"""The parts of a block. Before: config. After: the encoder."""
