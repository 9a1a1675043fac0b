"""One readable story for each verb: wires the rooms together. Before: every room. After: cli."""
