"""Pictures and measurements of runs and models. Before: files that runs leave. After: runs."""
