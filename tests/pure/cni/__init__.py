"""Tests of `netclaim.cni`."""
