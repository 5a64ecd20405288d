"""What people do with rotations. What concerns a rotation's own routine is done by the verbs beside this package.

`wanted` reads what should be members, `sorting` decides what becomes of each, `writing` does it in batches; the verbs
are built on these. Whom a tick picks, and what an attempt makes of a member, is not decided here: that is
`protocol/rotate`.
"""
