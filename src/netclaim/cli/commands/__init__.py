"""One module for each command; `netclaim.cli` imports only the one that runs.

A module imports at its top what declares the command's options, and inside its functions what the
command works with: `--help` and completion in a shell have to be quick.
"""
