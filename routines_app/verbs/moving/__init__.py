"""Moving over from another scheduler of Celery's, with proof.

`reading` asks the old scheduler for its entries (`django_celery_beat`, `redbeat`, `beat_schedule`) and makes each an
`old_entries.OldEntry`; nothing of it is changed. `celery_schedule` and `celery_options` say what Celery's words are in
a routine's.
"""
