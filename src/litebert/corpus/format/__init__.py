"""The corpus directory: memory-mapped shards of token ids. Before: build. After: sampling, statistics."""
