"""`netclaim.kernel` on a real kernel."""
