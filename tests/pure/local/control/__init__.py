"""Tests of `netclaim.local.control`."""
