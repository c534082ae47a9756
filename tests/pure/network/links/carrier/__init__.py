"""Tests of `netclaim.network.links.carrier`."""
