"""Tests of `netclaim.kernel.state.copies`."""
