"""Tests of `netclaim.plugins`."""
