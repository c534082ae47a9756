"""Tests of `netclaim.model.devices`."""
