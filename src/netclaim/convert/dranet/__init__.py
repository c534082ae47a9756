"""Claims that are written for dranet, which stay claims.

claims     a claim, on netclaim's driver
selectors  what selects dranet's devices, in expressions and constraints
"""
