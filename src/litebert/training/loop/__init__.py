"""Steps, durations and what surrounds a step. Before: settings. After: the trainer."""
