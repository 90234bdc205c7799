"""AWS types of load balancers."""
