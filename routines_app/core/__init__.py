"""Pure decisions: no Django, no Celery, no Redis, no clock, no randomness.

`now` and random numbers are arguments, and what was decided is returned as a value; others act on it.
"""
