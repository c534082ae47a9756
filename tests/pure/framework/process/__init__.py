"""Tests of `netclaim.framework.process`."""
