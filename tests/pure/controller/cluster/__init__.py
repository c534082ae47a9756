"""Tests of `netclaim.controller.cluster`."""
