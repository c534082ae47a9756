"""Tests of `netclaim.local`."""
