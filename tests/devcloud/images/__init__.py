"""Images that are built."""
