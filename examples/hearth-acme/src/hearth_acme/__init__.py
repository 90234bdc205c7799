"""A resource type and a function for Hearth."""
