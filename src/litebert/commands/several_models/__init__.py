"""Several models for one task on the same examples. Before: model_loading, row_files. After: ensemble, compare."""
