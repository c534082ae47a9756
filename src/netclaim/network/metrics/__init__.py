"""Metrics: what the network driver counts beyond what every driver does.

table          all of them
timed_plugins  how long plugins take
addresses      how many addresses of each network are leased
link_room      how much there is of each link
series_names   which networks have series of their own
"""
