"""The HTTP edges: they translate, and decide nothing."""
