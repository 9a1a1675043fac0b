"""The submission to the GLUE leaderboard. Before: fine-tuned models or submission files. After: a zip file."""
