"""Arguments that several commands share. Before: tyro. After: the commands of this package."""
