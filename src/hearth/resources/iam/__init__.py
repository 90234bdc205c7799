"""AWS types of users and their keys, over the users of stacks."""
