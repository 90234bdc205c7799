"""A language server for templates and environments.

An editor sends texts that are broken most of the time, and waits for the answers. So no answer
needs a compiled template: a parser that accepts any text (`parser`) keeps it as blocks that are
parsed again only when they change (`layout`), and one table (`locations`) has what the grammar
expects where. Only the compiler reports problems, in a process of its own (`linter`).
"""
