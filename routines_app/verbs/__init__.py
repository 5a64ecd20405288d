"""What people can do with routines and runs: a module for each verb, named for it. `service.py` is the way in.

A verb checks what it is given (`checking/`), opens the frame that locks the routine's state (`editing.py`), calls the
protocol, and writes down who changed what. Besides the verbs: `reading.py`, `draft.py` and `upcoming.py` answer what
interfaces ask, `family.py` keeps parents and depths, `audit_*.py` are the parts of the audit. What else takes many
modules has a folder: `batches/` (many pauses as one), `why/`, `health/`, `doctor/`, `rotations/`, `exports/`,
`moving/` and `shadow/` (from another scheduler), `leases/` (a look in thought). What decides about slots and runs is
the protocol's and the core's and not written here again; nothing here knows of requests, pages or commands.
"""
