"""The command line of `litebert corpus`. Before: commands. After: a terminal."""
