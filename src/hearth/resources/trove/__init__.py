"""Types of the database service."""
