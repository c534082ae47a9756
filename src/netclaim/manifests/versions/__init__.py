"""The versions of resource.k8s.io: from one to another, and what does not survive it.

conversion   between the versions that servers have
legacy       versions that are gone
migration    any version to one
remark       what a migration says about an object
upgrade      a whole file to another version
"""
