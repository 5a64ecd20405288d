"""Pauses of many routines as one batch, and pools that let nobody start.

An older release knows neither. On the way back what a batch has paused stays paused, by itself; and a ceiling is at
least 1 there: a drained pool gets its own back, one that was set to 0 gets 1.
"""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F

import routines_app.models.ledger_time


def open_pools(apps: Any, schema_editor: Any) -> None:
    pools = apps.get_model("routines", "Pool").objects.using(schema_editor.connection.alias)
    pools.filter(drained_from__isnull=False).update(max_concurrent=F("drained_from"), drained_from=None)
    pools.filter(max_concurrent=0).update(max_concurrent=1)


class Migration(migrations.Migration):
    dependencies = [
        ("routines", "0011_shadow"),
    ]

    operations = [
        migrations.CreateModel(
            name="PauseBatch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100)),
                ("is_open", models.BooleanField(db_default=True, default=True, null=True)),
                ("reason", models.TextField(blank=True, db_default="", default="")),
                (
                    "until",
                    models.DateTimeField(help_text="When its pauses end by themselves; empty: they do not.", null=True),
                ),
                (
                    "selected_by",
                    models.JSONField(
                        default=dict, help_text="What chose the routines: a tag, a group, a queue, a pool, a filter."
                    ),
                ),
                ("created_at", models.DateTimeField(default=routines_app.models.ledger_time.now, editable=False)),
                ("created_by", models.CharField(db_default="", default="", max_length=255)),
                (
                    "up_to_id",
                    models.BigIntegerField(
                        help_text="The last routine that there was when it was made: later ones stay out."
                    ),
                ),
                (
                    "looked_at_id",
                    models.BigIntegerField(
                        db_default=0, default=0, help_text="The routines up to here were looked at."
                    ),
                ),
                (
                    "filled_at",
                    models.DateTimeField(
                        help_text="When all were looked at; empty: it is still being filled.", null=True
                    ),
                ),
                (
                    "taken",
                    models.PositiveIntegerField(db_default=0, default=0, help_text="How many routines it has paused."),
                ),
                (
                    "left_alone",
                    models.PositiveIntegerField(db_default=0, default=0, help_text="How many were paused already."),
                ),
                (
                    "release",
                    models.CharField(
                        blank=True,
                        choices=[("SKIP", "Skip"), ("LAST", "Last"), ("ALL", "All")],
                        db_default="",
                        default="",
                        help_text="How the slots of its pauses are released; empty: it is not being resumed.",
                        max_length=24,
                    ),
                ),
                ("resumed_by", models.CharField(db_default="", default="", max_length=255)),
                (
                    "resumed",
                    models.PositiveIntegerField(db_default=0, default=0, help_text="How many routines it has resumed."),
                ),
                (
                    "refused",
                    models.PositiveIntegerField(
                        db_default=0, default=0, help_text="How many stay paused by themselves."
                    ),
                ),
                ("closed_at", models.DateTimeField(null=True)),
            ],
            options={
                "verbose_name_plural": "pause batches",
                "ordering": ["-id"],
            },
        ),
        migrations.RemoveConstraint(
            model_name="pool",
            name="pool_has_room_for_one",
        ),
        migrations.AddField(
            model_name="pool",
            name="drained_from",
            field=models.PositiveIntegerField(
                blank=True,
                editable=False,
                help_text="Its ceiling before it was drained; empty: it is not drained.",
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="pool",
            name="max_concurrent",
            field=models.PositiveIntegerField(
                help_text="At most this many runs of the pool are in flight together; 0: none starts."
            ),
        ),
        migrations.AddConstraint(
            model_name="pool",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("drained_from__isnull", True),
                    models.Q(("drained_from__gte", 1), ("max_concurrent", 0)),
                    _connector="OR",
                ),
                name="pool_drained_has_no_room",
            ),
        ),
        migrations.AddConstraint(
            model_name="pausebatch",
            constraint=models.UniqueConstraint(fields=("name", "is_open"), name="one_open_batch_of_a_name"),
        ),
        migrations.AddConstraint(
            model_name="pausebatch",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("closed_at__isnull", True), ("is_open", True)),
                    models.Q(("closed_at__isnull", False), ("is_open__isnull", True)),
                    _connector="OR",
                ),
                name="batch_is_open_or_was_closed",
            ),
        ),
        migrations.AddField(
            model_name="routine",
            name="pause_batch",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                editable=False,
                help_text="The batch that paused it; empty: its pause is its own.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="routines",
                to="routines.pausebatch",
            ),
        ),
        migrations.AddIndex(
            model_name="routine",
            index=models.Index(fields=["pause_batch", "id"], name="routine_by_batch"),
        ),
        migrations.AddConstraint(
            model_name="routine",
            constraint=models.CheckConstraint(
                condition=models.Q(("pause_batch__isnull", True), ("status", "PAUSED"), _connector="OR"),
                name="routine_in_a_batch_only_when_paused",
            ),
        ),
        migrations.RunPython(migrations.RunPython.noop, open_pools),
    ]
