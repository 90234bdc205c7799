"""The command line interface. Only this package starts processes and connects the other
packages.
"""
