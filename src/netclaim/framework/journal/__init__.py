"""The journal: what has to survive a crash and a reboot.

journal    bookings, leases and reports of one driver, on disk and in memory
commits    writes of many callers, together
store      the file, SQLite
records    the values that it keeps
table      rows in memory, found by more than their key
lost       what running pods had by attachments that were lost
states     which states they have, and every move between them
read_only  a look into it from another process
pod_plans  which plans a pod has, by what it keeps
"""
