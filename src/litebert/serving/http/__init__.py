"""HTTP around the routes: connections, bodies, the key and errors. Before: uvicorn. After: the routes."""
