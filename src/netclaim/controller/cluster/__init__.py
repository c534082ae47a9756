"""The cluster as the controller sees it, and how it writes to it.

watches  what there is, followed
slim     what is kept of each object
objects  the API's kinds, in the version that the cluster serves
events   events about objects
"""
