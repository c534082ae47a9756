"""Tests of `netclaim.kube`."""
