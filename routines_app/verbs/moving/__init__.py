"""Moving over from another scheduler of Celery's, with proof. Nothing of the old one is changed here.

`reading` asks it for its entries (`from_django_celery_beat`, `from_redbeat`, `beat_schedule`) and makes each an
`old_entries.OldEntry`. `carrying` says what one becomes; `celery_schedule` and `celery_options` say Celery's words in a
routine's. `old_fires` asks the old schedule itself when it would fire, and `comparing` puts our slots beside that.
`drafting` decides against the ledger, `move` has the verbs. Entries of `beat_schedule` are made by the beats:
`imported` tells what they do.
"""
