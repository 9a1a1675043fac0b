"""What each command does, as a function over a settings class. Before: all packages but cli. After: cli."""
