"""AWS types of servers, disks and networks, over the services of the cloud."""
