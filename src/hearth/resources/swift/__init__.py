"""Types of the object store."""
