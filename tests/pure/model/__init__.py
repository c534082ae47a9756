"""Tests of `netclaim.model`."""
