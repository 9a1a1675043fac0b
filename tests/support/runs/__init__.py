"""Short training runs and the commands on their models."""
