"""Parts of the embedded cluster."""
