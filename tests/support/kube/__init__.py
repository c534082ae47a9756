"""Objects of the API, and a small server of them."""
