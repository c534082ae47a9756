"""Drivers on the nodes of a lab: as processes, as a DaemonSet would have them, or as a pod."""
