"""Pure scheduling decisions: no Django, no Celery, no Redis, no clock, no randomness."""
