"""Value classes that all packages share: template positions, problems, actions, unknown values.

The package imports no other package of the project and does no I/O.
"""
