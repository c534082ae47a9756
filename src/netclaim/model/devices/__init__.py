"""What a driver offers.

device       a device, and the API's limits on it
counter      what several devices have a part of
device_name  which names the API allows
link_name    what the name of a device says of its link
"""
