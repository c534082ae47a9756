"""Tests of `netclaim.framework.report`."""
