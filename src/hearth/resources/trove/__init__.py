"""Resource types of the database service."""
