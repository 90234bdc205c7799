"""The command line: the only package that starts processes and connects the others."""
