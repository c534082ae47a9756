"""Tests of `netclaim.framework.telemetry`."""
