"""Tools for the authors of templates: lint, fmt, JSON Schema, and a language server.

They read files from the disk and know every resource type of Heat. They call no cloud and keep no
state. Their checks use the same compiler as the API.
"""
