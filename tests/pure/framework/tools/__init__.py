"""Tests of `netclaim.framework.tools`."""
