"""The beat: a Celery scheduler that any number of processes run side by side.

`scheduler` is what Celery starts, `loop` what it does at each turn, `sender` what it publishes, `outside` how it waits
for a database or broker that is away. `declared` keeps what is declared in step, of two sources: the app's own
`beat_schedule`, which `verbs/moving/beat_schedule` reads, and the project's code. A beat decides nothing about slots
and remembers nothing that matters: that is the protocol's and the ledger's.
"""
