"""Text to token ids and back. Before: text. After: corpus, tasks and inference."""
