"""What a request passes before it reaches an API, and its answer after it. It knows no stacks."""
