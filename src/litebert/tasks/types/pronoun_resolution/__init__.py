"""Pronoun resolution: does a phrase replace the pronoun of a text? Before: readers. After: commands."""
