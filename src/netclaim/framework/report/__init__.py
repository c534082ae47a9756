"""Report: what became of a claim's devices, in the claim's status and in events.

reporter      writes it, off every hook's path, until it is written
claim_status  what a status says, from the journal
"""
