"""Members of rotations: who they are, whom a tick picks, and what the end of a run makes of one.

No claim and no message here: a tick is `claim/tick.py`, which uses this. Locks: members, then their rotation, as
everybody (docs/architecture.md). A tick has its rotation first, so it skips members that somebody holds, and never
waits for one.
"""
