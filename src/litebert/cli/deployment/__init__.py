"""Commands that hand trained models to other programs. Before: arguments. After: `litebert.cli.main`."""
