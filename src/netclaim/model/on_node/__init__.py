"""What becomes of a claim on its node.

prepared    what kubelet names, and what it is answered
plan        what prepare decided about it
pod         a sandbox, as the runtime describes it
attachment  a planned device in one sandbox
leftover    what exists on the node, and what of it is left over
node        the node itself
"""
