"""Tests of `netclaim.network.attach`."""
