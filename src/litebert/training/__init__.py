"""The engine: optimizers, schedules, steps, checkpoints. Knows nothing of ALBERT, text or tasks."""
