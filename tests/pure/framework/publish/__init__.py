"""Tests of `netclaim.framework.publish`."""
