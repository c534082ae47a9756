"""Tests of `netclaim.nri`."""
