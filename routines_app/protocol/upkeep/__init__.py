"""What was lost on the way is found again: orphans, lost messages, forgotten rows, old history, silent nodes.

Every beat looks for orphans, because each believes only its own eyes; the rest is done by whichever has the turn. What
is found is changed by compare-and-set, so two at once do no harm.
"""
