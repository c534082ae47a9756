"""Tests of `netclaim.model.pools`."""
