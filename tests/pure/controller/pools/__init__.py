"""Tests of `netclaim.controller.pools`."""
