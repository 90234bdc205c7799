"""AWS types of monitoring."""
