"""The command line: parse, call runs, print. No logic."""
