"""What a corpus and its examples hold. Before: format, sampling. After: commands."""
