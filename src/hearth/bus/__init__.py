"""Wake-ups for engines, and notifications of users' events through a message broker.

A wake-up only tells an engine to look into the database for work, so a lost, duplicate or late
wake-up does no harm.
"""
