"""Publish: devices into the node's ResourceSlices, and what the scheduler waits for.

publisher           keeps the slices as they should be
slices              which writes that takes
server_fields       what the API server adds to a device, or drops of it
preflight           whether a claim could be served, before its pod is bound to the node
binding_conditions  the verdicts on such claims in the API's form
"""
