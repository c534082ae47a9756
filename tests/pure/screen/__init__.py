"""Tests of `netclaim.screen`."""
