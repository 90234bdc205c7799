"""The agent of servers."""
