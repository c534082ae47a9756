"""Tests of `netclaim.status`."""
