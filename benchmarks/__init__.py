"""What netclaim costs, measured: ratios within one run, since machines differ. `make bench`."""
