"""The use cases that create, change, delete and preview stacks."""
