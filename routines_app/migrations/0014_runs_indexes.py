"""Lists of runs: by a trigger that few have, and from a run to those that somebody has asked to do it again.

Both indexes are partial: what is fired by schedule costs nothing more. Databases without partial indexes (MySQL,
MariaDB) get a plain one for the second; a rare trigger is looked for there in a bounded stretch of runs.
"""

from typing import Any

from django.db import migrations, models
from django.db.models import Q

PLAIN = models.Index(fields=["retry_of"], name="run_done_again_plain")


def add_plain_index(apps: Any, schema_editor: Any) -> None:
    connection, model = schema_editor.connection, apps.get_model("routines", "RoutineRun")
    if connection.features.supports_partial_indexes:
        return
    with connection.cursor() as cursor:
        there = connection.introspection.get_constraints(cursor, model._meta.db_table)
    if PLAIN.name not in there:
        schema_editor.add_index(model, PLAIN)


class Migration(migrations.Migration):
    dependencies = [("routines", "0013_waits_and_lifetimes")]

    operations = [
        migrations.AddIndex(
            model_name="routinerun",
            index=models.Index(
                condition=Q(retry_of__isnull=False, chain__isnull=True), fields=["retry_of"], name="run_done_again"
            ),
        ),
        migrations.AddIndex(
            model_name="routinerun",
            index=models.Index(
                condition=Q(trigger__in=["manual", "catch_up", "hint", "backfill"]),
                fields=["trigger", "id"],
                name="run_by_rare_trigger",
            ),
        ),
        # Nothing is taken back, as with the other plain indexes.
        migrations.RunPython(add_plain_index, migrations.RunPython.noop, atomic=False),
    ]
