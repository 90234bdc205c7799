"""Tools for the authors of templates: lint, fmt, JSON schema, and a language server.

They read files from the disk and know every resource type that Heat has. They ask no cloud, keep
no state, and judge with the compiler that the API uses.
"""
