"""The documentation as a list of examples, the small files that they name, and short versions of their runs."""
