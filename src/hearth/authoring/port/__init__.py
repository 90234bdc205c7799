"""Prints a resource type of Hearth from the schemas in a plug-in of Heat.

The plug-in is read as text and never executed, because it needs Heat and may do anything.
"""
