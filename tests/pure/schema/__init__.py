"""Tests of `netclaim.schema`."""
