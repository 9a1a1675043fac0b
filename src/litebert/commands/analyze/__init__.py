"""Plots of runs and models. Before: commands that train. After: cli."""
