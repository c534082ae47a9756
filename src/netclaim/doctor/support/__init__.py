"""The archive for maintainers: the findings, and what they were found in, without secrets.

collect     everything that goes into the archive
cluster     what is collected of a cluster
node        what is collected of a node
gathered    the files so far, and what could not be had
clean       what is removed from every file
archive     writing the archive
"""
