"""Tests of `netclaim.local.api`."""
