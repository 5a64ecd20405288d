"""The tables of the first release."""

from typing import Any

import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import routines_app.models.run


def tune_state_table(apps: Any, schema_editor: Any) -> None:
    """State rows change with every fire: room on each page keeps the updates off the indexes."""
    if schema_editor.connection.vendor == "postgresql":
        table = apps.get_model("routines", "RoutineState")._meta.db_table
        schema_editor.execute(
            f"ALTER TABLE {table} SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02,"
            " autovacuum_vacuum_cost_delay = 0)"
        )


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Node",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(help_text="role@host:pid", max_length=255, unique=True)),
                ("role", models.CharField(choices=[("beat", "Beat"), ("worker", "Worker")], max_length=24)),
                ("host", models.CharField(max_length=255)),
                ("pid", models.PositiveIntegerField()),
                ("versions", models.JSONField(default=dict)),
                ("queues", models.JSONField(default=list, help_text="The queues that a worker consumes.")),
                ("tasks", models.JSONField(default=list, help_text="The tasks that a worker has registered.")),
                (
                    "declares",
                    models.CharField(
                        blank=True, default="", help_text="Whose beat_schedule a beat imports.", max_length=200
                    ),
                ),
                ("load", models.FloatField(null=True)),
                ("memory_bytes", models.BigIntegerField(null=True)),
                ("running_runs", models.PositiveIntegerField(default=0)),
                ("draining", models.BooleanField(default=False)),
                ("started_at", models.DateTimeField()),
                ("seen_at", models.DateTimeField()),
            ],
            options={
                "ordering": ["role", "name"],
                "indexes": [models.Index(fields=["role", "seen_at"], name="node_by_role")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["beat", "worker"])), name="node_role_is_known"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Pool",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100, unique=True)),
                (
                    "max_concurrent",
                    models.PositiveIntegerField(
                        help_text="At most this many runs of the pool are in flight together.",
                        validators=[django.core.validators.MinValueValidator(1)],
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("max_concurrent__gte", 1)), name="pool_has_room_for_one")
                ],
            },
        ),
        migrations.CreateModel(
            name="Routine",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=200, unique=True)),
                ("description", models.TextField(blank=True, db_default="", default="")),
                ("tags", models.JSONField(blank=True, default=list)),
                ("group", models.CharField(blank=True, db_default="", default="", max_length=100)),
                ("task", models.CharField(help_text="The registered name of a Celery task.", max_length=255)),
                ("args", models.JSONField(blank=True, default=list)),
                ("kwargs", models.JSONField(blank=True, default=dict)),
                (
                    "queue",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Empty: what task_routes says for the task.",
                        max_length=200,
                    ),
                ),
                (
                    "trigger_kind",
                    models.CharField(
                        choices=[("CRON", "Cron"), ("INTERVAL", "Interval"), ("MANUAL", "Manual")],
                        db_default="MANUAL",
                        default="MANUAL",
                        max_length=24,
                    ),
                ),
                (
                    "cron",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="5 fields, 6 with seconds first, or @hourly.",
                        max_length=200,
                    ),
                ),
                ("interval_ms", models.BigIntegerField(blank=True, null=True)),
                ("timezone", models.CharField(db_default="UTC", default="UTC", max_length=64)),
                ("start_at", models.DateTimeField(blank=True, null=True)),
                ("end_at", models.DateTimeField(blank=True, null=True)),
                ("jitter_ms", models.BigIntegerField(db_default=0, default=0)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("ACTIVE", "Active"),
                            ("PAUSED", "Paused"),
                            ("ARCHIVED", "Archived"),
                            ("PARKED", "Parked"),
                        ],
                        db_default="ACTIVE",
                        default="ACTIVE",
                        max_length=24,
                    ),
                ),
                ("paused_until", models.DateTimeField(blank=True, null=True)),
                (
                    "pause_reason",
                    models.TextField(blank=True, db_default="", default="", help_text="Why it is paused or parked."),
                ),
                (
                    "priority",
                    models.CharField(
                        choices=[("LOW", "Low"), ("MEDIUM", "Medium"), ("HIGH", "High")],
                        db_default="MEDIUM",
                        default="MEDIUM",
                        max_length=24,
                    ),
                ),
                ("emphasis", models.FloatField(db_default=1.0, default=1.0)),
                ("depth", models.PositiveIntegerField(db_default=0, default=0, editable=False)),
                (
                    "concurrency_policy",
                    models.CharField(
                        choices=[("ALLOW", "Allow"), ("FORBID", "Forbid"), ("REPLACE", "Replace")],
                        db_default="ALLOW",
                        default="ALLOW",
                        max_length=24,
                    ),
                ),
                (
                    "catch_up_policy",
                    models.CharField(
                        choices=[("SKIP", "Skip"), ("LAST", "Last"), ("ALL", "All")],
                        db_default="SKIP",
                        default="SKIP",
                        max_length=24,
                    ),
                ),
                ("misfire_grace_ms", models.BigIntegerField(db_default=60000, default=60000)),
                (
                    "catch_up_window",
                    models.BigIntegerField(
                        blank=True,
                        help_text="Milliseconds: slots that were missed longer ago are not caught up.",
                        null=True,
                    ),
                ),
                (
                    "catch_up_limit",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="At most this many missed slots are caught up, the newest ones.",
                        null=True,
                    ),
                ),
                ("timeout_ms", models.BigIntegerField(db_default=300000, default=300000)),
                (
                    "expires_ms",
                    models.BigIntegerField(
                        blank=True,
                        help_text="A run that has not started this long after its slot is skipped.",
                        null=True,
                    ),
                ),
                ("max_attempts", models.PositiveIntegerField(db_default=3, default=3)),
                ("retry_delay_ms", models.BigIntegerField(db_default=10000, default=10000)),
                ("retry_max_delay_ms", models.BigIntegerField(db_default=600000, default=600000)),
                ("retry_jitter", models.FloatField(db_default=0.2, default=0.2)),
                (
                    "retry_for",
                    models.JSONField(
                        blank=True, default=list, help_text="Exception names; empty means every exception."
                    ),
                ),
                ("no_retry_for", models.JSONField(blank=True, default=list)),
                (
                    "park_after",
                    models.PositiveIntegerField(
                        blank=True, help_text="Park the routine after this many failed chains in a row.", null=True
                    ),
                ),
                ("min_interval_ms", models.BigIntegerField(blank=True, null=True)),
                ("max_interval_ms", models.BigIntegerField(blank=True, null=True)),
                ("keep_result", models.BooleanField(db_default=True, default=True)),
                ("declared_in", models.CharField(db_default="database", default="database", max_length=200)),
                ("declared_seen_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("version", models.PositiveIntegerField(db_default=1, default=1, editable=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "parent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="children",
                        to="routines.routine",
                    ),
                ),
                (
                    "pool",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="routines",
                        to="routines.pool",
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "permissions": [
                    ("run_routine", "Can run a routine now"),
                    ("pause_routine", "Can pause and resume a routine"),
                    ("reset_routine", "Can reset a parked routine and release its lease"),
                    ("hint_routine", "Can give and clear hints"),
                ],
            },
        ),
        migrations.CreateModel(
            name="RoutineRun",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=routines_app.models.run.new_run_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("PENDING", "Pending"),
                            ("RUNNING", "Running"),
                            ("SUCCESS", "Success"),
                            ("FAILED", "Failed"),
                            ("SKIPPED", "Skipped"),
                            ("CANCELLED", "Cancelled"),
                        ],
                        db_default="PENDING",
                        default="PENDING",
                        max_length=24,
                    ),
                ),
                (
                    "reason",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("exception", "Exception"),
                            ("timeout", "Timeout"),
                            ("worker_lost", "Worker lost"),
                            ("orphaned", "Orphaned"),
                            ("interrupted", "Interrupted"),
                            ("unknown_task", "Unknown task"),
                            ("bad_arguments", "Bad arguments"),
                            ("rejected", "Rejected"),
                            ("ignored", "Ignored"),
                            ("overlap", "Overlap"),
                            ("misfire", "Misfire"),
                            ("paused", "Paused"),
                            ("expired", "Expired"),
                            ("parked", "Parked"),
                            ("superseded", "Superseded"),
                            ("replaced", "Replaced"),
                            ("cancelled", "Cancelled"),
                            ("archived", "Archived"),
                            ("ceiling", "Ceiling"),
                            ("not_yet", "Not yet"),
                            ("replacing", "Replacing"),
                            ("lease_held", "Lease held"),
                            ("key_taken", "Key taken"),
                            ("redis_away", "Redis away"),
                            ("publish_failed", "Publish failed"),
                            ("overdue", "Overdue"),
                        ],
                        db_default="",
                        default="",
                        max_length=24,
                    ),
                ),
                (
                    "trigger",
                    models.CharField(
                        choices=[
                            ("schedule", "Schedule"),
                            ("manual", "Manual"),
                            ("retry", "Retry"),
                            ("catch_up", "Catch up"),
                            ("hint", "Hint"),
                            ("backfill", "Backfill"),
                        ],
                        db_default="schedule",
                        default="schedule",
                        max_length=24,
                    ),
                ),
                (
                    "source",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("baseline-cron", "Baseline cron"),
                            ("baseline-interval", "Baseline interval"),
                            ("hint-interval", "Hint interval"),
                            ("hint-oneshot", "Hint oneshot"),
                            ("clamped-min", "Clamped min"),
                            ("clamped-max", "Clamped max"),
                            ("paused", "Paused"),
                            ("manual", "Manual"),
                            ("ended", "Ended"),
                            ("archived", "Archived"),
                            ("parked", "Parked"),
                            ("catching-up", "Catching up"),
                        ],
                        db_default="",
                        default="",
                        max_length=24,
                    ),
                ),
                ("task", models.CharField(max_length=255)),
                ("queue", models.CharField(blank=True, db_default="", default="", max_length=200)),
                ("timeout_ms", models.BigIntegerField(db_default=300000, default=300000)),
                ("args", models.JSONField(help_text="NULL: the routine's own.", null=True)),
                ("kwargs", models.JSONField(help_text="NULL: the routine's own.", null=True)),
                ("scheduled_for", models.DateTimeField()),
                ("next_planned_for", models.DateTimeField(null=True)),
                ("eligible_at", models.DateTimeField()),
                (
                    "admitted_at",
                    models.DateTimeField(
                        help_text="When it was let through to the broker; NULL while held.", null=True
                    ),
                ),
                (
                    "publish_after",
                    models.DateTimeField(help_text="When any beat may (again) look at it as unpublished.", null=True),
                ),
                ("publish_count", models.PositiveIntegerField(db_default=0, default=0)),
                ("dispatched_at", models.DateTimeField(null=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("completed_at", models.DateTimeField(null=True)),
                ("heartbeat_at", models.DateTimeField(null=True)),
                ("attempt", models.PositiveIntegerField(db_default=1, default=1)),
                (
                    "budget_used",
                    models.PositiveIntegerField(
                        db_default=1, default=1, help_text="Attempts that count, this one included."
                    ),
                ),
                ("chain", models.UUIDField(help_text="The chain's first run; NULL on that run itself.", null=True)),
                ("idempotency_key", models.CharField(max_length=255)),
                ("running_key", models.BigIntegerField(null=True)),
                ("fence", models.BigIntegerField(null=True)),
                ("worker", models.CharField(blank=True, db_default="", default="", max_length=255)),
                ("requested_by", models.CharField(blank=True, db_default="", default="", max_length=255)),
                ("stop_requested_at", models.DateTimeField(null=True)),
                ("stop_reason", models.CharField(blank=True, db_default="", default="", max_length=24)),
                ("progress", models.JSONField(null=True)),
                ("result", models.TextField(help_text="JSON, cut visibly when it is over the limit.", null=True)),
                ("error", models.TextField(blank=True, db_default="", default="")),
                ("traceback", models.TextField(blank=True, db_default="", default="")),
                (
                    "scheduled_until",
                    models.DateTimeField(help_text="Last slot, when the row stands for many.", null=True),
                ),
                ("occurrences", models.PositiveIntegerField(db_default=1, default=1)),
                (
                    "pool",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="routines.pool",
                    ),
                ),
                (
                    "retry_of",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="retries",
                        to="routines.routinerun",
                    ),
                ),
                (
                    "routine",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="routines.routine",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "permissions": [("cancel_routinerun", "Can cancel a run")],
            },
        ),
        migrations.CreateModel(
            name="RunLog",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
                ("line", models.TextField()),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="log_lines",
                        to="routines.routinerun",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="ScheduleChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("routine_name", models.CharField(max_length=200)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("created", "Created"),
                            ("updated", "Updated"),
                            ("paused", "Paused"),
                            ("resumed", "Resumed"),
                            ("archived", "Archived"),
                            ("parked", "Parked"),
                            ("reset", "Reset"),
                            ("hinted", "Hinted"),
                            ("hints_cleared", "Hints cleared"),
                            ("replanned", "Replanned"),
                            ("lease_released", "Lease released"),
                            ("deleted", "Deleted"),
                        ],
                        max_length=24,
                    ),
                ),
                ("at", models.DateTimeField()),
                ("actor", models.CharField(blank=True, default="", max_length=255)),
                ("reason", models.TextField(blank=True, default="")),
                ("before", models.JSONField(default=dict)),
                ("after", models.JSONField(default=dict)),
                ("next_slot", models.DateTimeField(null=True)),
                (
                    "routine",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="changes",
                        to="routines.routine",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="RoutineState",
            fields=[
                (
                    "routine",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="state",
                        serialize=False,
                        to="routines.routine",
                    ),
                ),
                (
                    "last_slot",
                    models.DateTimeField(
                        help_text="The anchor: the last slot of the schedule accounted for.", null=True
                    ),
                ),
                ("next_slot", models.DateTimeField(help_text="The next slot to fire.", null=True)),
                ("next_run_at", models.DateTimeField(null=True)),
                (
                    "next_source",
                    models.CharField(
                        choices=[
                            ("baseline-cron", "Baseline cron"),
                            ("baseline-interval", "Baseline interval"),
                            ("hint-interval", "Hint interval"),
                            ("hint-oneshot", "Hint oneshot"),
                            ("clamped-min", "Clamped min"),
                            ("clamped-max", "Clamped max"),
                            ("paused", "Paused"),
                            ("manual", "Manual"),
                            ("ended", "Ended"),
                            ("archived", "Archived"),
                            ("parked", "Parked"),
                            ("catching-up", "Catching up"),
                        ],
                        db_default="manual",
                        default="manual",
                        max_length=24,
                    ),
                ),
                ("hint_interval_ms", models.BigIntegerField(null=True)),
                ("hint_next_at", models.DateTimeField(null=True)),
                ("hint_expires_at", models.DateTimeField(null=True)),
                ("hint_reason", models.TextField(db_default="", default="")),
                ("last_run_at", models.DateTimeField(null=True)),
                ("last_success_at", models.DateTimeField(null=True)),
                (
                    "failure_count",
                    models.PositiveIntegerField(db_default=0, default=0, help_text="Chains FAILED in a row."),
                ),
                ("fence", models.BigIntegerField(db_default=0, default=0)),
                ("fingerprint", models.CharField(db_default="", default="", max_length=16)),
                ("open_skip", models.UUIDField(help_text="The SKIPPED row that the next claim may extend.", null=True)),
                (
                    "release_policy",
                    models.CharField(
                        blank=True,
                        choices=[("SKIP", "Skip"), ("LAST", "Last"), ("ALL", "All")],
                        db_default="",
                        default="",
                        help_text="How slots up to release_until are caught up; empty: as the routine says.",
                        max_length=24,
                    ),
                ),
                (
                    "release_until",
                    models.DateTimeField(help_text="The end of the pause that is being released.", null=True),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["next_run_at", "routine"], name="state_due"),
                    models.Index(
                        condition=models.Q(("next_source", "catching-up")),
                        fields=["next_source"],
                        name="state_catching_up",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "next_source__in",
                                [
                                    "baseline-cron",
                                    "baseline-interval",
                                    "hint-interval",
                                    "hint-oneshot",
                                    "clamped-min",
                                    "clamped-max",
                                    "paused",
                                    "manual",
                                    "ended",
                                    "archived",
                                    "parked",
                                    "catching-up",
                                ],
                            )
                        ),
                        name="state_source_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("next_run_at__isnull", True),
                                ("next_source__in", ["archived", "catching-up", "ended", "manual", "parked"]),
                            ),
                            ("next_source", "paused"),
                            models.Q(
                                models.Q(
                                    ("next_source__in", ["archived", "catching-up", "ended", "manual", "parked"]),
                                    _negated=True,
                                ),
                                ("next_run_at__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="state_asleep_means_no_next_run",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("release_policy", ""), ("release_until__isnull", True)),
                            models.Q(models.Q(("release_policy", ""), _negated=True), ("release_until__isnull", False)),
                            _connector="OR",
                        ),
                        name="state_release_has_policy_and_end",
                    ),
                ],
            },
        ),
        migrations.AddIndex(
            model_name="routine",
            index=models.Index(fields=["status", "name"], name="routine_by_status"),
        ),
        migrations.AddIndex(
            model_name="routine",
            index=models.Index(fields=["task"], name="routine_by_task"),
        ),
        migrations.AddIndex(
            model_name="routine",
            index=models.Index(fields=["declared_in", "declared_seen_at"], name="routine_by_declaration"),
        ),
        migrations.AddConstraint(
            model_name="routine",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", ["ACTIVE", "PAUSED", "ARCHIVED", "PARKED"])),
                name="routine_status_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="routine",
            constraint=models.CheckConstraint(
                condition=models.Q(("trigger_kind__in", ["CRON", "INTERVAL", "MANUAL"])),
                name="routine_trigger_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="routine",
            constraint=models.CheckConstraint(
                condition=models.Q(("priority__in", ["LOW", "MEDIUM", "HIGH"])), name="routine_priority_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="routine",
            constraint=models.CheckConstraint(
                condition=models.Q(("concurrency_policy__in", ["ALLOW", "FORBID", "REPLACE"])),
                name="routine_concurrency_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="routine",
            constraint=models.CheckConstraint(
                condition=models.Q(("catch_up_policy__in", ["SKIP", "LAST", "ALL"])), name="routine_catch_up_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="routine",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("interval_ms__isnull", True), ("trigger_kind", "CRON"), models.Q(("cron", ""), _negated=True)
                    ),
                    models.Q(("cron", ""), ("interval_ms__isnull", False), ("trigger_kind", "INTERVAL")),
                    models.Q(("cron", ""), ("interval_ms__isnull", True), ("trigger_kind", "MANUAL")),
                    _connector="OR",
                ),
                name="routine_has_what_its_trigger_needs",
            ),
        ),
        migrations.AddConstraint(
            model_name="routine",
            constraint=models.CheckConstraint(
                condition=models.Q(("interval_ms__isnull", True), ("interval_ms__gte", 1000), _connector="OR"),
                name="routine_interval_is_a_second_up",
            ),
        ),
        migrations.AddConstraint(
            model_name="routine",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("start_at__isnull", True),
                    ("end_at__isnull", True),
                    ("end_at__gte", models.F("start_at")),
                    _connector="OR",
                ),
                name="routine_ends_after_it_starts",
            ),
        ),
        migrations.AddConstraint(
            model_name="routine",
            constraint=models.CheckConstraint(
                condition=models.Q(("timeout_ms__gte", 1000), ("timeout_ms__lte", 86400000)),
                name="routine_timeout_1s_to_24h",
            ),
        ),
        migrations.AddConstraint(
            model_name="routine",
            constraint=models.CheckConstraint(
                condition=models.Q(("max_attempts__gte", 1)), name="routine_has_an_attempt"
            ),
        ),
        migrations.AddConstraint(
            model_name="routine",
            constraint=models.CheckConstraint(
                condition=models.Q(("retry_delay_ms__gte", 0), ("retry_max_delay_ms__gte", models.F("retry_delay_ms"))),
                name="routine_retry_delays_in_order",
            ),
        ),
        migrations.AddConstraint(
            model_name="routine",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("min_interval_ms__isnull", True),
                    ("max_interval_ms__isnull", True),
                    ("max_interval_ms__gte", models.F("min_interval_ms")),
                    _connector="OR",
                ),
                name="routine_min_below_max_interval",
            ),
        ),
        migrations.AddConstraint(
            model_name="routine",
            constraint=models.CheckConstraint(
                condition=models.Q(("paused_until__isnull", True), ("status", "PAUSED"), _connector="OR"),
                name="routine_paused_until_only_when_paused",
            ),
        ),
        migrations.AddIndex(
            model_name="routinerun",
            index=models.Index(fields=["routine", "id"], name="run_by_routine"),
        ),
        migrations.AddIndex(
            model_name="routinerun",
            index=models.Index(fields=["status", "id"], name="run_by_status"),
        ),
        migrations.AddIndex(
            model_name="routinerun",
            index=models.Index(
                condition=models.Q(("dispatched_at__isnull", True), ("status", "PENDING")),
                fields=["publish_after"],
                name="run_waiting",
            ),
        ),
        migrations.AddIndex(
            model_name="routinerun",
            index=models.Index(
                condition=models.Q(("dispatched_at__isnull", False), ("status", "PENDING")),
                fields=["queue", "publish_after"],
                name="run_dispatched",
            ),
        ),
        migrations.AddIndex(
            model_name="routinerun",
            index=models.Index(
                condition=models.Q(("status__in", ["PENDING", "RUNNING"])), fields=["routine"], name="run_active"
            ),
        ),
        migrations.AddIndex(
            model_name="routinerun",
            index=models.Index(
                condition=models.Q(("pool__isnull", False), ("status__in", ["PENDING", "RUNNING"])),
                fields=["pool", "admitted_at"],
                name="run_pooled",
            ),
        ),
        migrations.AddIndex(
            model_name="routinerun",
            index=models.Index(condition=models.Q(("chain__isnull", False)), fields=["chain"], name="run_by_chain"),
        ),
        migrations.AddConstraint(
            model_name="routinerun",
            constraint=models.UniqueConstraint(fields=("idempotency_key",), name="one_run_per_slot_and_attempt"),
        ),
        migrations.AddConstraint(
            model_name="routinerun",
            constraint=models.UniqueConstraint(fields=("running_key",), name="one_exclusive_run_at_a_time"),
        ),
        migrations.AddConstraint(
            model_name="routinerun",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", ["PENDING", "RUNNING", "SUCCESS", "FAILED", "SKIPPED", "CANCELLED"])),
                name="run_status_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="routinerun",
            constraint=models.CheckConstraint(
                condition=models.Q(("trigger__in", ["schedule", "manual", "retry", "catch_up", "hint", "backfill"])),
                name="run_trigger_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="routinerun",
            constraint=models.CheckConstraint(
                condition=models.Q(("running_key__isnull", True), ("status", "RUNNING"), _connector="OR"),
                name="run_key_only_while_running",
            ),
        ),
        migrations.AddConstraint(
            model_name="routinerun",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("completed_at__isnull", False), ("status__in", ["SUCCESS", "FAILED", "SKIPPED", "CANCELLED"])
                    ),
                    models.Q(("completed_at__isnull", True), ("status__in", ["PENDING", "RUNNING"])),
                    _connector="OR",
                ),
                name="run_completed_means_ended",
            ),
        ),
        migrations.AddConstraint(
            model_name="routinerun",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("status__in", ["PENDING", "SKIPPED", "CANCELLED"]),
                    ("status", "FAILED"),
                    ("started_at__isnull", False),
                    _connector="OR",
                ),
                name="run_running_or_success_has_started",
            ),
        ),
        migrations.AddConstraint(
            model_name="routinerun",
            constraint=models.CheckConstraint(
                condition=models.Q(("attempt__gte", 1), ("occurrences__gte", 1)), name="run_counts_from_one"
            ),
        ),
        migrations.AddIndex(
            model_name="runlog",
            index=models.Index(fields=["run", "id"], name="log_by_run"),
        ),
        migrations.AddIndex(
            model_name="schedulechange",
            index=models.Index(fields=["routine", "id"], name="change_by_routine"),
        ),
        migrations.AddConstraint(
            model_name="schedulechange",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "kind__in",
                        [
                            "created",
                            "updated",
                            "paused",
                            "resumed",
                            "archived",
                            "parked",
                            "reset",
                            "hinted",
                            "hints_cleared",
                            "replanned",
                            "lease_released",
                            "deleted",
                        ],
                    )
                ),
                name="change_kind_is_known",
            ),
        ),
        migrations.RunPython(tune_state_table, migrations.RunPython.noop),
    ]
