"""What is fitted to the development rows after training: a temperature, thresholds. Before: tasks. After: saving."""
