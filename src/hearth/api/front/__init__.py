"""Middleware in front of the APIs, which does not depend on stacks."""
