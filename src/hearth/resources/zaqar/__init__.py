"""Types over the messaging service."""
