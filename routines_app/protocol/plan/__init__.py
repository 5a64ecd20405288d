"""When a routine is looked at next, and what becomes of slots that a plan leaves behind.

From the rows to the governor in `core` and back. Nothing here starts, sends or ends a run.
"""
