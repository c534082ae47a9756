"""Tests of `netclaim.convert`."""
