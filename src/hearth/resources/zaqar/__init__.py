"""Types of the messaging service."""
