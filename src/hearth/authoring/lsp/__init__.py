"""A language server for templates and environments.

An editor sends texts that are broken most of the time, and waits for the answers. So nothing here
compiles a template to answer: a reader that never fails (`pieces`) keeps a text as blocks that are
read again only when they change (`layout`), and one table (`places`) says what may stand where.
What is wrong with a template the compiler alone says, in a process of its own (`judge`).
"""
