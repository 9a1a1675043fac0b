"""Commands on embeddings. Before: tyro. After: the commands embed and search."""
