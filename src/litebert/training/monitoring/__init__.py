"""What watches a run: detectors, metric logging, progress. Before: the trainer. After: a person."""
