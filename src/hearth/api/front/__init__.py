"""Middleware that is common to all APIs and does not depend on stacks."""
