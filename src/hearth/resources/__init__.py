"""What can be made: one folder per service, one file per resource type.

A type is a stateless declaration: properties, attributes, and per action a list of named steps. It
never waits by itself, keeps nothing between calls, and knows no store, no engine and no API.
"""
