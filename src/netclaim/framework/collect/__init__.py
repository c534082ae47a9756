"""Collect: remove what was left on the node and belongs to no existing pod or claim.

collector  finds and removes it
living     what has to be left alone
retire     the end of a driver that does not come back
"""
