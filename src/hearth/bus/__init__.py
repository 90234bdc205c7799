"""Wake-ups for engines: a message may be lost, duplicated or late without harm."""
