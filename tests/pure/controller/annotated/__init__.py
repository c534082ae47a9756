"""Networks by annotation."""
