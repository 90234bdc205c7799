"""Types of the orchestration service itself."""
