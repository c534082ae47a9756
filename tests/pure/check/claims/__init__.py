"""Tests of `netclaim.check.claims`."""
