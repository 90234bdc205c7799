"""The command line: starts processes and wires everything together; nothing else does."""
