"""Cases and objects for the allocator."""
