"""Tests of the corpus room; a package, because other rooms have files of the same names."""
