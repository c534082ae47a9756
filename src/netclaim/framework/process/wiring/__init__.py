"""The parts of a served driver, chosen and put together.

parts   the real edges, and everything around them
stages  what works on claims and sandboxes, by whatever edges there are
edges   what the stages reach outside of them
"""
