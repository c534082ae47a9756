"""A status as text, JSON or YAML.

show         a status on a screen, or as JSON or YAML
displays     a status that changes: on a terminal, in a pipe, for a tool
tables       the columns of each view
pool_tables  the columns of address pools and of addresses
fit          which columns fit a terminal
"""
