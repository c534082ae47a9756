"""Tests of `netclaim.framework.attach`."""
