"""Tables, claims and scales as data. Before: .yaml files. After: cells."""
