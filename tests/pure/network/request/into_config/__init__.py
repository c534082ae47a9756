"""Tests of `netclaim.network.request.into_config`."""
