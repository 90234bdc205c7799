"""What people do next: every type after a failed first operation, with each next operation."""
