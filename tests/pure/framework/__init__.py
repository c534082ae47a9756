"""Tests of `netclaim.framework`."""
