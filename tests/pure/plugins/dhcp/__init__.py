"""Tests of `netclaim.plugins.dhcp`."""
