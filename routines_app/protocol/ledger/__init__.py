"""How we talk to the database: which one, its clock, its locks, its time limits, arrays and prepared statements.

No routine, slot or run is decided here: what is written was decided by whoever calls.
"""
