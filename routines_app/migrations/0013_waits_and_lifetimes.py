"""What a run has waited for, which run was in its way, and from when to when beats and workers were there.

Databases without partial indexes (MySQL, MariaDB) get a plain one, as in 0002.
"""

from typing import Any

from django.db import migrations, models
from django.db.models import Q

import routines_app.models.json_field

BLOCKED = models.Index(fields=["blocked_by"], name="run_by_blocker", condition=Q(blocked_by__isnull=False))
PLAIN = models.Index(fields=["blocked_by"], name="run_by_blocker_plain")


def add_plain_index(apps: Any, schema_editor: Any) -> None:
    connection = schema_editor.connection
    if connection.features.supports_partial_indexes:
        return
    model = apps.get_model("routines", "RoutineRun")
    with connection.cursor() as cursor:
        there = connection.introspection.get_constraints(cursor, model._meta.db_table)
    if PLAIN.name not in there:
        schema_editor.add_index(model, PLAIN)


class Migration(migrations.Migration):
    dependencies = [
        ("routines", "0012_pause_batches"),
    ]

    operations = [
        migrations.CreateModel(
            name="NodeLifetime",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(help_text="role@host:pid", max_length=255)),
                (
                    "role",
                    models.CharField(choices=[("beat", "Beat"), ("worker", "Worker")], max_length=24),
                ),
                ("host", models.CharField(max_length=255)),
                ("pid", models.PositiveIntegerField()),
                (
                    "queues",
                    routines_app.models.json_field.JSONField(
                        default=list, help_text="The queues that a worker consumed, as it last said."
                    ),
                ),
                ("started_at", models.DateTimeField()),
                ("seen_at", models.DateTimeField()),
                (
                    "ended_at",
                    models.DateTimeField(
                        help_text="When it ended in order; NULL: it lives, or fell silent.", null=True
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["role", "seen_at"], name="lifetime_by_role")],
                "constraints": [
                    models.CheckConstraint(condition=Q(role__in=["beat", "worker"]), name="lifetime_role_is_known")
                ],
            },
        ),
        migrations.AddField(
            model_name="routinerun",
            name="blocked_by",
            field=models.UUIDField(
                help_text="The run that was in its way, or that took its place; of the same routine.", null=True
            ),
        ),
        migrations.AddField(
            model_name="routinerun",
            name="waits",
            field=models.TextField(
                help_text="What it has waited for, as core/waits.py writes it; NULL: nothing.", null=True
            ),
        ),
        migrations.AddIndex(model_name="routinerun", index=BLOCKED),
        # Nothing is taken back: the index goes with its column.
        migrations.RunPython(add_plain_index, migrations.RunPython.noop, atomic=False),
    ]
