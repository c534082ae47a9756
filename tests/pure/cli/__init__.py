"""Tests of `netclaim.cli`."""
