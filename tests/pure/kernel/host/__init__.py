"""Tests of `netclaim.kernel.host`."""
