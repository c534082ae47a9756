"""Tests of `netclaim.plugins.engine`."""
