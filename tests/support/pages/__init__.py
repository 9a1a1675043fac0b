"""The examples of the documentation as tests."""
