"""Tests of `netclaim.network.links.remembered`."""
