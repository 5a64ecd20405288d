"""Batches of pauses: many routines that are paused as one, in pieces, and resumed as one.

`selection` says which, `filling` (whose top has the protocol) and `resuming` go on piece by piece, `pieces` does one in
a transaction, `chosen` the same without a batch, `finding` reads. What a pause means is decided in `protocol/plan`.
"""
