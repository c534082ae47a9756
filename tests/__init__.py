"""The four rungs of tests."""
