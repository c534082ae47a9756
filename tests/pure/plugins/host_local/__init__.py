"""Tests of `netclaim.plugins.host_local`."""
