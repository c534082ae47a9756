"""Tests of `netclaim.plugins.host_device`."""
