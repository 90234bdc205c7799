"""The worker of the cluster service: it carries out tasks and synchronises clusters with their
stacks.

Several conductors may share a database. A task belongs to one conductor at a time; its steps can be
repeated without harm, and the last change to a stack and the end of its task are one transaction.
So if a conductor dies, nothing is lost and nothing is done twice.
"""
