"""Tests of `netclaim.doctor`."""
