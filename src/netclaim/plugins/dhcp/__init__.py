"""dhcp: an address of the DHCP server in the interface's network, in process.

dhcp, conf     the plugin, its configuration
lease_records  the leases that attachments have, and their files
terms          what the caller of the plugin says of an attachment's lease
wire           packets to and from a server, at an interface in a container
exchange       a client at such an interface, until it has an answer
"""
