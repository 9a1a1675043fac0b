"""`litebert corpus …`. Before: a command line. After: corpus, commands."""
