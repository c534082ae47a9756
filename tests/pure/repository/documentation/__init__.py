"""Tests of the pages: what they say is what the code does."""
