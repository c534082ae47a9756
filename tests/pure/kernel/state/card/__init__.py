"""Tests of `netclaim.kernel.state.card`."""
