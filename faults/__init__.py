"""The fault campaign: bursts of pods on a real Kubernetes while something breaks, and an audit.

`python -m faults` runs it on a lab of its own. What can break is data in `faults.table`; the
promise that is audited is in `faults.audit`. Not part of the wheel.
"""
