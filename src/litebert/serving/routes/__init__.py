"""The HTTP routes. Before: the models of the server. After: `create_app`."""
