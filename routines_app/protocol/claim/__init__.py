"""From a due routine to rows: which are due, what fires, what is skipped, and the state that is left behind.

One transaction for a batch. `claim.py` tells the protocol; what is decided about one routine is in `decide.py`.
"""
