"""Tests of `netclaim.controller.networks`."""
