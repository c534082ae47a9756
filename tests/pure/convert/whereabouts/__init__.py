"""Tests of `netclaim.convert.whereabouts`."""
