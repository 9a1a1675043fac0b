"""Models, golden values, tolerances and checks of shapes."""
