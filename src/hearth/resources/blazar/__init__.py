"""Types of the reservation service."""
