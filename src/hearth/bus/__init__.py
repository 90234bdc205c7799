"""Who should look: messages that each may be lost, doubled or late without harm."""
