"""Wikipedia dumps, books and reading-comprehension data as text files. Before: downloads. After: `corpus build`."""
