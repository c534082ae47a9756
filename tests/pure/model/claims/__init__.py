"""Tests of `netclaim.model.claims`."""
