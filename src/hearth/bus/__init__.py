"""Wake-ups for engines: a lost, duplicated or late message does no harm."""
