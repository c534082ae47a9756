"""Tests of `netclaim.convert.written`."""
