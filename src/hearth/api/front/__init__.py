"""Middleware in front of the APIs. It knows no stacks."""
