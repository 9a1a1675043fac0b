"""The corpus directory: shards of token ids, memory-mapped. Before: build. After: sampling, statistics."""
