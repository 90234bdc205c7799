"""AWS types of users and access keys, made with users of the stack's project."""
