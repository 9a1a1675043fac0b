"""`litebert corpus build`, `verify`, `show` and `stats`. Before: corpus. After: cli."""
