"""Tools for the authors of templates: lint, fmt, JSON schema, and a language server.

They read files from the disk and know every resource type of Heat. They call no cloud, keep no
state, and use the compiler of the API for their checks.
"""
