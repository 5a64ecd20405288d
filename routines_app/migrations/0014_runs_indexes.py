"""Lists of runs: by what was in their way, by a trigger that few have, and from a run to those that somebody has asked
to do it again.

All indexes are partial: what is fired by schedule costs nothing more. Databases without partial indexes (MySQL,
MariaDB) get plain ones, as in 0002; a rare trigger is looked for there in a bounded stretch of runs. There may be
millions of runs: PostgreSQL makes the indexes beside the work, and whoever was cut off can migrate again.
"""

from typing import Any

from django.db import migrations, models
from django.db.models import Q

from routines_app.models.index_beside import AddIndexBeside, indexes_of

PLAIN = (
    models.Index(fields=["blocked_by"], name="run_by_blocker_plain"),
    models.Index(fields=["retry_of"], name="run_done_again_plain"),
)


def add_plain_indexes(apps: Any, schema_editor: Any) -> None:
    model = apps.get_model("routines", "RoutineRun")
    if schema_editor.connection.features.supports_partial_indexes:
        return
    for index in PLAIN:
        if index.name not in indexes_of(schema_editor, model):
            schema_editor.add_index(model, index)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("routines", "0013_waits_and_lifetimes")]

    operations = [
        AddIndexBeside(
            model_name="routinerun",
            index=models.Index(fields=["blocked_by"], name="run_by_blocker", condition=Q(blocked_by__isnull=False)),
        ),
        AddIndexBeside(
            model_name="routinerun",
            index=models.Index(
                condition=Q(retry_of__isnull=False, chain__isnull=True), fields=["retry_of"], name="run_done_again"
            ),
        ),
        AddIndexBeside(
            model_name="routinerun",
            index=models.Index(
                condition=Q(trigger__in=["manual", "catch_up", "hint", "backfill"]),
                fields=["trigger", "id"],
                name="run_by_rare_trigger",
            ),
        ),
        # Nothing is taken back, as with the other plain indexes.
        migrations.RunPython(add_plain_indexes, migrations.RunPython.noop),
    ]
