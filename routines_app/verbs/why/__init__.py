"""Why a routine ran, or did not, at a moment: in sentences, from the ledger, the history and the nodes' lifetimes.

`why` finds the slot; `attempts` tells what became of each run, with `waited` (who held it up) and `ends` (what a status
and its reason mean); `no_slot` says why there was none, by the schedule as it was `then`; `presence` knows which beats
and workers were there. Whatever the rows do not say is said to be unknown.
"""
