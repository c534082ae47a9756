"""`python -m netclaim` is `netclaim`."""

from netclaim.cli import main

main()
