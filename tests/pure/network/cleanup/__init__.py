"""Tests of `netclaim.network.cleanup`."""
