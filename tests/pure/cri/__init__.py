"""Tests of `netclaim.cri`."""
