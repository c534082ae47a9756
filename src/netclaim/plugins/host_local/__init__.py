"""host-local: addresses from ranges, kept on this host's disk.

host_local, conf, ranges   the plugin, its configuration, its ranges
lease_store, lease_files   the leases of a network, and their files
"""
