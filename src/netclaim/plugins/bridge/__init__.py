"""bridge: a pair of links, the host's end a port of a bridge on the host.

bridge, conf     the plugin, its configuration
host, gateway    the bridge and its ports on the host; its addresses as a gateway
check            CHECK of bridge and port
spoof_check      packet rules that let only the container's MAC pass
"""
