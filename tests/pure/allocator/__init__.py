"""Tests of `netclaim.allocator`."""
