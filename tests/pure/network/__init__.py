"""Tests of `netclaim.network`."""
