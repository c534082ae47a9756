"""What a driver is given.

claim          a claim with its allocation, as a driver needs it
claim_text     the same, read from the API server's JSON
opaque_config  parameters for a driver
unreadable     what stands for parameters that cannot be read
named_drivers  which drivers a selector names
"""
