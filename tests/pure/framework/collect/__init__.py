"""Tests of `netclaim.framework.collect`."""
