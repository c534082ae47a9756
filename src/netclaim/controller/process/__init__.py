"""The controller as a process.

serve  signals, probes and metrics, and taking turns with other replicas
lease  which of several replicas works
run    the parts put together: watches, a queue, and one worker
"""
