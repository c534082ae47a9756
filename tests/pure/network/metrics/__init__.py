"""Tests of `netclaim.network.metrics`."""
