"""Tests of `netclaim.check`."""
