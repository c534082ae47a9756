"""Tests of `netclaim.kernel.host.hardware`."""
