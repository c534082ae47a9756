"""Tests of `netclaim.kubelet`."""
