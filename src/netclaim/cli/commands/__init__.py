"""One module for each command; `netclaim.cli` imports only the one that runs."""
