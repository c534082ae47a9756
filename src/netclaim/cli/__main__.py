"""`python -m netclaim.cli` is `netclaim`."""

from netclaim.cli import main

main()
