"""What a process reports about its work: metrics, traces, and the subject of each log line."""
