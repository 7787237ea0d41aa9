"""The report: what it says, its plots, and the page.

Stands on the other modules of `lab`.
"""
