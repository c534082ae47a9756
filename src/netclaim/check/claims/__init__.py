"""What a claim of the files asks for, and what it would get.

wanted       its requests, and the alternatives of each
selectable   which links the selectors of a request can select
unpublished  what a request asks of a link that no link has
alone        requests that take a link which others may share
policy       what the driver's trust policy says of it
stand_in     a made-up allocation, for the driver to read
"""
