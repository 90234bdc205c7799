"""AWS types of the object store."""
