"""Two piles of items matched, and the duplicates of one, with a promised share of right pairs.

hubless finds it by its entry points: the command `match`. `hubless.match` is its only function.
"""
