"""What a node of the lab is: its process 1, its cables, its components and its files."""
