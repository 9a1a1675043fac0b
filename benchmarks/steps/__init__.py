"""What step_profile.py measures, the parts of a step and the trainer's own time; and recipe_profile.py, whole steps."""
