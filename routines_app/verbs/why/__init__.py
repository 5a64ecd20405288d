"""Why a routine ran, or did not, at a moment: in sentences, from the ledger, the history and the nodes' lifetimes.

`why` finds the slot; `attempts` tells its story: who `planned` it, who held it up (`waited`), how each attempt `ends`,
or why it was `skipped`; `no_slot` says why there was none, by the schedule as it was `then`; `presence` knows which
beats and workers were there, and `silence` says that none was. Whatever the rows do not say is said to be unknown.

Each sentence is made of whole templates (`core/said.py`), so that pages can say it in another language.
"""
