"""Tests of `netclaim.plugins.tuning`."""
