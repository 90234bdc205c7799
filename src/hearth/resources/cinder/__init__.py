"""Types of the block storage service."""
