"""Health: `sign` is what a process leaves on its own machine, `standing` what the ledger knows, `health` the verb.

`movement` is whether the work moves, `recent` an answer for many (`shared`), `notices/` what the health bar says.
Nothing is written to the ledger.
"""
