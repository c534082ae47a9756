"""Which of the node's links are offered, and as which devices.

choice    which links, by rule and by the settings
offer     the devices that one link becomes: shared, for one claim, or slots
networks  PodNetworks as devices, each on its links
places    the order in which devices are listed
"""
