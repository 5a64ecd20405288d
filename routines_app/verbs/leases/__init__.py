"""The plan of leases: one look of a beat, in thought. Nothing here writes.

`facts` reads what a look would meet, `what_if` checks another policy, `picture` is the ledger as the steps of the look
would leave it, `claiming` and `later_steps` are these steps. The decisions are those of the protocol and the core.
"""
