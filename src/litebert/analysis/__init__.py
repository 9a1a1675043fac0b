"""Curves and plots of runs and corpora. Before: recorded metrics and counts. After: PNG files and HTML pages."""
