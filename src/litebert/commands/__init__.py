"""The commands of litebert as functions of a settings class. Before: all packages but cli. After: cli."""
