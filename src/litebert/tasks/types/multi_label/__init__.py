"""Multi-label classification: any number of labels for each text or pair of texts. Before: readers. After: commands."""
