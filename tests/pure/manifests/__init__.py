"""Tests of `netclaim.manifests`."""
