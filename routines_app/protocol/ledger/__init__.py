"""How we talk to the database: which one, its clock, its locks, its time limits, arrays and prepared statements.

No routine, slot or run is decided here. One thing is written: `default_pool` gives a run that has no pool the default
one.
"""
