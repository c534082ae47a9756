"""Tests of `netclaim.convert.multus`."""
