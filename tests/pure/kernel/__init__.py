"""Tests of `netclaim.kernel`."""
