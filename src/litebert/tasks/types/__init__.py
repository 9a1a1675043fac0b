"""One module or package a task type. Before: readers. After: commands, inference."""
