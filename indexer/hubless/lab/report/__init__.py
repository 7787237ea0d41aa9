"""The report: its contents, its pictures, and the page.

Stands on the other modules of `lab`.
"""
