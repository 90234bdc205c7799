"""Types of the shared file system service."""
