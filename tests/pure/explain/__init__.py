"""Tests of `netclaim.explain`."""
