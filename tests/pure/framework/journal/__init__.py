"""Tests of `netclaim.framework.journal`."""
