"""The worker of the cluster service: it carries out tasks and follows the stacks of clusters.

Several conductors may share a database. A task belongs to one conductor at a time; its steps can
be repeated without harm, and the last change to a stack and the end of its task are one
transaction. So the death of a conductor neither loses nor repeats anything.
"""
