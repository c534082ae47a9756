"""Tests of `netclaim.kernel.state`."""
