"""What several benchmarks measure with: clocks, ratios with intervals, times of training steps, servers and load."""
