"""Tests of `netclaim.network.links.offering`."""
