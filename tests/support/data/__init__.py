"""Files and inputs for tests."""
