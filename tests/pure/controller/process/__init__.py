"""Tests of `netclaim.controller.process`."""
