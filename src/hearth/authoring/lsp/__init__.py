"""A language server for templates and environments.

Editors send incomplete texts most of the time and wait for answers, so no answer needs a compiled
template. A parser that accepts any text (`parser`) splits it into blocks that are parsed again only
when they change (`layout`). The table in `locations` describes what the grammar expects at each
place. Only the compiler reports problems, in a separate process (`linter`).
"""
