"""Tests of `netclaim.convert.dranet`."""
