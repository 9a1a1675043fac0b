"""The Python API. Before: commands as functions over settings classes. After: typed functions over data in memory."""
