"""Tests of `netclaim.network.policy`."""
