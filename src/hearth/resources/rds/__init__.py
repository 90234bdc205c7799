"""AWS types of databases."""
