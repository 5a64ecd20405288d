"""Members of rotations: who they are, whom a tick picks, and what the end of a run makes of one.

No claim and no message here: a tick is `claim/tick.py`, which uses this. Locks: a rotation's row, then its members'.
"""
