"""Tests of `netclaim.dhcp`."""
