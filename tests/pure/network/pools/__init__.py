"""Tests of `netclaim.network.plan`."""
