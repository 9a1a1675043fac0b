"""What the benchmarks compare litebert with."""
