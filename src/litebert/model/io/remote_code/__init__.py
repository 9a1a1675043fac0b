"""Code that transformers runs with `trust_remote_code=True`. Before: a saved model. After: `AutoModel` of transformers.

litebert copies these files into model directories and does not import them: they need transformers.
"""
