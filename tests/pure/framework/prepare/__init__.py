"""Tests of `netclaim.framework.prepare`."""
