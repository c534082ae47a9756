"""Tests of `netclaim.chained`."""
