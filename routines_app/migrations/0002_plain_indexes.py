"""Plain indexes for databases without partial ones (MySQL, MariaDB), where the models' conditions are left out.

The columns of the missing condition come first, so that the same lookups are as short.
"""

from typing import Any

from django.db import migrations, models

PLAIN = {
    "routinerun": [
        models.Index(fields=["status", "dispatched_at", "publish_after"], name="run_waiting_plain"),
        models.Index(fields=["status", "publish_after"], name="run_dispatched_plain"),
        models.Index(fields=["routine", "status"], name="run_active_plain"),
        models.Index(fields=["pool", "status", "admitted_at"], name="run_pooled_plain"),
        models.Index(fields=["chain"], name="run_by_chain_plain"),
    ],
    "routinestate": [models.Index(fields=["next_source"], name="state_catching_up_plain")],
}


def add_plain_indexes(apps: Any, schema_editor: Any) -> None:
    connection = schema_editor.connection
    if connection.features.supports_partial_indexes:
        return
    for model_name, indexes in PLAIN.items():
        model = apps.get_model("routines", model_name)
        with connection.cursor() as cursor:
            there = connection.introspection.get_constraints(cursor, model._meta.db_table)
        for index in indexes:
            if index.name not in there:
                schema_editor.add_index(model, index)


class Migration(migrations.Migration):
    dependencies = [("routines", "0001_initial")]

    # Nothing is taken back: a foreign key may rest on one of these by now, and they go with their tables.
    operations = [migrations.RunPython(add_plain_indexes, migrations.RunPython.noop, atomic=False)]
