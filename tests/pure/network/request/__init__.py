"""Tests of `netclaim.network.request`."""
