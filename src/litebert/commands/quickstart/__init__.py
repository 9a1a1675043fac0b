"""The whole product on text that is on the machine. Before: text. After: an encoder and a classifier."""
