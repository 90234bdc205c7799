"""The worker of the cluster service: it carries out tasks and updates clusters from their stacks.

Several conductors may share a database. A task belongs to one conductor at a time. The steps of a
task can be repeated, and the last change to a stack is made in the same transaction as the end of
the task. So if a conductor dies, another one continues and repeats no change.
"""
