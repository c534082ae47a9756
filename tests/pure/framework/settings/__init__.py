"""Tests of `netclaim.framework.settings`."""
