"""What was lost on the way is found again: orphans, lost messages, forgotten rows, old history, silent nodes.

One pass at a time, by whichever beat has the turn. Everything is a compare-and-set, so two at once do no harm.
"""
