"""A language server for templates and environments.

While an author types, texts are incomplete and the editor waits for responses. Therefore no
response needs a compiled template. The module `layout` splits a text into blocks, and parses a
block again only when it changes. `parser` accepts any text. `locations` describes what the grammar
expects at each place. Only the compiler reports problems; it runs in a separate process (`linter`).
"""
