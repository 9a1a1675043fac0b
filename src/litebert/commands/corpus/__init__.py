"""`litebert corpus build` and `corpus stats`. Before: corpus. After: cli."""
