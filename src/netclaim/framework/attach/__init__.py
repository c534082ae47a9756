"""Attach: planned devices into pods when the runtime asks, and back.

sandbox         one object for a sandbox: what is wanted of it, who waits, how far it got
reconcile       the one step that makes a sandbox what is wanted of it
attacher        what it lacks of its pod's plans, by calls of the driver, and what is said of a loss
detacher        the way back, and when it is given up
adopt           pods that run, but are not in the journal because it was lost
repair          the work that nobody waits for, namespace by namespace
nri_hooks       the runtime calls by its plugin interface
cni_calls       the runtime calls by its own CNI chain; held containers wait, `driver gc` asks
hold_hook       the hook by which a container waits until its pod is complete
hook_budget     what failing attaches may take of the runtime's hooks
followers       status, marks, metadata and metrics, which follow what sandboxes have
marks           what is on the disk for when the driver is away
errors          what can go wrong
"""
