"""What is looked at, when, and how much is done for each of many.

queue   what has to be looked at, each thing once
keys    what the queue holds, and what comes first
rounds  what is done to all pods of one owner, with pauses that grow
budget  a burst at once, and then one more every so often
"""
