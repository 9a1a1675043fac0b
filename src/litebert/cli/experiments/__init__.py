"""Commands that run and compare many experiments. Before: arguments. After: the command that is called."""
