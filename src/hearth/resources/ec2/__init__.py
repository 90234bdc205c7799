"""AWS types of servers, volumes and networks, made with OpenStack services."""
