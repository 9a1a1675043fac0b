"""Published collections to text files that `litebert corpus build` reads."""
