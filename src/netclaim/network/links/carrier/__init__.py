"""What a link's carrier means for its device.

carrier      when it is lost, when it is back, and when pods have to go
health       the taints of devices whose link has none
last_speeds  the speed that a link had when it last had one
"""
