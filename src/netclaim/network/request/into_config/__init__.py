"""What is put into a network's configuration before its plugins get it.

wishes     a row for each parameter beside `config` that asks something of the network
added      those that become a plugin at its end
link_keys  the allocated link
runtime    what programs get to know of their device
"""
