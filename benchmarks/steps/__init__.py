"""What step_profile.py measures: the parts of a step, the steps of a recipe, and those of the trainer."""
