"""Tests of `netclaim.local.node`."""
