"""GLUE, SQuAD and RACE as rows of data. Before: published files. After: commands."""
