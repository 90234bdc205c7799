"""The HTTP interface: it translates requests and answers, and makes no decisions."""
