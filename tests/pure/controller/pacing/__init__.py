"""Tests of `netclaim.controller.pacing`."""
