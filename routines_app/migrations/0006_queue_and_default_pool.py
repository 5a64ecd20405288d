"""QUEUE as a fourth overlap policy, a default pool, and the place of what somebody asked for by hand.

The words that the constraint knows are exchanged last, so first on the way back: where that is refused, MariaDB and
MySQL, which undo no DDL, still have every column.
"""

from typing import Any

from django.db import migrations, models

POLICIES = ["ALLOW", "FORBID", "REPLACE", "QUEUE"]


def give_waiting_requests_their_place(apps: Any, schema_editor: Any) -> None:
    """What was asked for before and waits still: in the order in which it may go."""
    runs = apps.get_model("routines", "RoutineRun").objects.using(schema_editor.connection.alias)
    active = runs.filter(status__in=["PENDING", "RUNNING"])
    active.filter(trigger="manual").update(requested_at=models.F("eligible_at"))
    # Retries bear their first run's key, whose letter says that somebody asked for it, and its time.
    asked = active.filter(trigger="retry", idempotency_key__startswith="m:")
    asked.update(requested_at=models.F("scheduled_for"))


def let_queues_forbid(apps: Any, schema_editor: Any) -> None:
    """An older release knows no QUEUE. Of its words FORBID is the nearest: it never overlaps either, and stops nothing
    that runs, as REPLACE would; a slot that finds its routine active is skipped instead of waiting."""
    routines = apps.get_model("routines", "Routine").objects.using(schema_editor.connection.alias)
    routines.filter(concurrency_policy="QUEUE").update(concurrency_policy="FORBID")


class Migration(migrations.Migration):
    dependencies = [
        ("routines", "0005_own_limits"),
    ]

    operations = [
        migrations.AddField(
            model_name="pool",
            name="is_default",
            field=models.BooleanField(
                blank=True, help_text="Routines that name no pool belong to this one.", null=True, unique=True
            ),
        ),
        migrations.AddField(
            model_name="routinerun",
            name="requested_at",
            field=models.DateTimeField(
                help_text="When somebody asked for it by hand: its place in the queue, which its retries keep.",
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="routine",
            name="concurrency_policy",
            field=models.CharField(
                choices=[(policy, policy.capitalize()) for policy in POLICIES],
                db_default="ALLOW",
                default="ALLOW",
                max_length=24,
            ),
        ),
        migrations.AddConstraint(
            model_name="pool",
            constraint=models.CheckConstraint(
                condition=models.Q(is_default__isnull=True) | models.Q(is_default=True),
                name="pool_is_default_or_says_nothing",
            ),
        ),
        migrations.RunPython(give_waiting_requests_their_place, migrations.RunPython.noop, elidable=True),
        migrations.RemoveConstraint(model_name="routine", name="routine_concurrency_is_known"),
        migrations.AddConstraint(
            model_name="routine",
            constraint=models.CheckConstraint(
                condition=models.Q(concurrency_policy__in=POLICIES), name="routine_concurrency_is_known"
            ),
        ),
        migrations.RunPython(migrations.RunPython.noop, let_queues_forbid),
    ]
