"""Types of the key-manager service."""
