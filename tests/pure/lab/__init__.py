"""Tests of the lab's own code."""
