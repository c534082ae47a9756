"""No loop is longer than its own tenant's work."""
