"""The HTTP server of a process: its connections, their limits, and the applications it serves."""
