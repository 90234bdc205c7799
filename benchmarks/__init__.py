"""Figures beside budgets: `python -m benchmarks`, or `make bench`.

Times are medians of a few runs, ratios are taken within one run, counts are exact. What is measured
is the product as it is started by users: real processes, HTTP, a database file that is synced.
"""
