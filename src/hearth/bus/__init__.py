"""Wake-ups for engines, and notifications about stacks and clusters through a message broker.

A wake-up only makes an engine look into the database for work, so a lost, duplicate or late wake-up
does no harm.
"""
