"""Middleware in front of the APIs, for requests and answers. It knows no stacks."""
