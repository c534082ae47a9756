"""Report: what became of a claim's devices, in the claim's status and in events.

reporter      writes what others noticed, off every hook's path, until it is written
turned_away   the same for claims that are refused before they hold anything
claim_status  what a status says, from the journal
"""
