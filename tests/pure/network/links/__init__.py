"""Tests of `netclaim.network.links`."""
