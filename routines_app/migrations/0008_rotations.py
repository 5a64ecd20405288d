"""Rotations: their own rows, their members', their samples, and what runs and routines say of them.

The words that the constraint knows are exchanged last, so first on the way back: where that is refused, MariaDB and
MySQL, which undo no DDL, still have every column.
"""

from datetime import UTC, datetime
from typing import Any

from django.db import migrations, models
from django.db.models import CASCADE, DO_NOTHING, SET_NULL, Q
from django.utils import timezone

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TICK_TASK = "routines.rotate"
TRIGGERS = ["schedule", "manual", "retry", "catch_up", "hint", "backfill", "rotation"]
MEMBERS = ["OWED", "IN_FLIGHT", "FRESH", "FAILED", "LEFT_OUT"]
REASONS = [
    "exception",
    "timeout",
    "worker_lost",
    "orphaned",
    "interrupted",
    "unknown_task",
    "bad_arguments",
    "rejected",
    "picked",
    "ignored",
    "abandoned",
    "overlap",
    "misfire",
    "paused",
    "expired",
    "parked",
    "superseded",
    "idle",
    "full",
    "replaced",
    "cancelled",
    "archived",
    "ceiling",
    "not_yet",
    "replacing",
    "lease_held",
    "key_taken",
    "routine_held",
    "redis_away",
    "publish_failed",
    "overdue",
]
# What an older release knows instead: nothing ran then, and what was in flight was in the way.
OLDER_REASONS = {"picked": "", "idle": "superseded", "full": "overlap"}


def use_older_words(apps: Any, schema_editor: Any) -> None:
    """An older release knows no rotations: their members are MANUAL routines to it, which somebody has run by hand.

    A rotation's own routine would go on to fire a task that is not there: it is archived, and its history says so.
    """
    alias = schema_editor.connection.alias
    runs = apps.get_model("routines", "RoutineRun").objects.using(alias)
    runs.filter(trigger="rotation").update(trigger="manual")
    for reason, older in OLDER_REASONS.items():
        runs.filter(reason=reason).update(reason=older)
    archive_rotations(apps, alias)
    settle(schema_editor)


def archive_rotations(apps: Any, alias: str) -> None:
    now = timezone.now()
    routines = apps.get_model("routines", "Routine").objects.using(alias)
    living = routines.filter(task=TICK_TASK).exclude(status="ARCHIVED")
    found = list(living.values_list("pk", "name", "status"))
    changes = apps.get_model("routines", "ScheduleChange")
    changes.objects.using(alias).bulk_create(
        changes(
            routine_id=pk,
            routine_name=name,
            kind="archived",
            at=now,
            reason="an older release knows no rotations",
            before={"status": status},
            after={"status": "ARCHIVED"},
        )
        for pk, name, status in found
    )
    states = apps.get_model("routines", "RoutineState").objects.using(alias)
    states.filter(routine__task=TICK_TASK).update(
        next_slot=None, slot_source="", next_run_at=None, next_source="archived", release_policy="", release_until=None
    )
    living.update(status="ARCHIVED", paused_until=None, pause_reason="")


def settle(schema_editor: Any) -> None:
    """PostgreSQL looks at the foreign key of a row updated twice at the end, and alters no table before."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        schema_editor.execute("SET CONSTRAINTS ALL DEFERRED")


def words(codes: list[str]) -> list[tuple[str, str]]:
    return [(code, code.replace("_", " ").capitalize()) for code in codes]


ROTATION = migrations.CreateModel(
    name="Rotation",
    fields=[
        (
            "routine",
            models.OneToOneField(
                on_delete=CASCADE, primary_key=True, related_name="rotates", serialize=False, to="routines.routine"
            ),
        ),
        (
            "budget",
            models.PositiveIntegerField(db_default=1, default=1, help_text="How many members a tick picks at most."),
        ),
        (
            "max_in_flight",
            models.PositiveIntegerField(
                db_default=1, default=1, help_text="No tick picks while this many members are in flight."
            ),
        ),
        (
            "fresh_for_ms",
            models.BigIntegerField(
                db_default=86_400_000, default=86_400_000, help_text="How long after its cycle a member is fresh."
            ),
        ),
        (
            "depth_weight",
            models.FloatField(
                db_default=0.5,
                default=0.5,
                help_text="How much longer deeper members count as having waited: 0 no longer.",
            ),
        ),
        (
            "member_task",
            models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The task of members that seeding makes.",
                max_length=255,
            ),
        ),
        (
            "phases",
            models.JSONField(
                blank=True, default=list, help_text="What a cycle runs, of members that say nothing else."
            ),
        ),
        (
            "seed",
            models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The dotted path of a callable that yields what should be members.",
                max_length=255,
            ),
        ),
        (
            "archive_vanished",
            models.BooleanField(
                db_default=False, default=False, help_text="Members that the callable yields no longer are archived."
            ),
        ),
        ("idle_multiplier", models.PositiveSmallIntegerField(db_default=1, default=1, editable=False)),
        ("skip_ticks", models.PositiveSmallIntegerField(db_default=0, default=0, editable=False)),
        (
            "ticks",
            models.BigIntegerField(
                db_default=0, default=0, editable=False, help_text="How many there were: what failed members wait by."
            ),
        ),
    ],
    options={
        "ordering": ["routine__name"],
        "constraints": [
            models.CheckConstraint(condition=Q(budget__gte=1, max_in_flight__gte=1), name="rotation_has_a_budget"),
            models.CheckConstraint(condition=Q(fresh_for_ms__gte=0), name="rotation_is_fresh_forwards"),
            models.CheckConstraint(
                condition=Q(idle_multiplier__gte=1, idle_multiplier__lte=4), name="rotation_idles_at_most_fourfold"
            ),
        ],
    },
)

MEMBER = migrations.CreateModel(
    name="RotationMember",
    fields=[
        (
            "routine",
            models.OneToOneField(
                on_delete=CASCADE, primary_key=True, related_name="membership", serialize=False, to="routines.routine"
            ),
        ),
        (
            "rotation",
            models.ForeignKey(db_index=False, on_delete=CASCADE, related_name="members", to="routines.rotation"),
        ),
        ("status", models.CharField(choices=words(MEMBERS), db_default="OWED", default="OWED", max_length=24)),
        ("phase", models.PositiveSmallIntegerField(db_default=0, default=0, help_text="Which phase comes next.")),
        ("band", models.PositiveSmallIntegerField(db_default=1, default=1, help_text="Of the routine's priority.")),
        ("depth", models.PositiveIntegerField(db_default=0, default=0, help_text="The routine's.")),
        ("emphasis", models.FloatField(db_default=1.0, default=1.0, help_text="The routine's.")),
        (
            "attempted_at",
            models.DateTimeField(default=EPOCH, help_text="The end of its last attempt; 1970: there was none."),
        ),
        ("stale_since", models.DateTimeField(help_text="Its last whole cycle, or when it became a member.")),
        ("cycles", models.BigIntegerField(db_default=0, default=0, help_text="Whole cycles so far.")),
        (
            "failures",
            models.PositiveIntegerField(db_default=0, default=0, help_text="Of its next phase, in a row."),
        ),
        (
            "rank_phase",
            models.GeneratedField(
                db_persist=True,
                expression=models.Case(
                    models.When(failures__gte=4, then=models.Value(0)),
                    default=models.F("phase"),
                    output_field=models.PositiveSmallIntegerField(),
                ),
                help_text="The phase that it ranks by: `core.rotation.rank_phase`.",
                output_field=models.PositiveSmallIntegerField(),
            ),
        ),
        ("due_at", models.DateTimeField(help_text="FRESH: when it is owed.", null=True)),
        (
            "retry_tick",
            models.BigIntegerField(help_text="FAILED: the rotation's tick from which it is owed again.", null=True),
        ),
        (
            "run",
            models.UUIDField(help_text="IN_FLIGHT: the chain that is under way, by its first run.", null=True),
        ),
    ],
    options={
        "indexes": [
            # First: MariaDB and MySQL hold the reference to the rotation by the first index that begins with it, and
            # ask for its row whenever an entry of that index is written. A status changes much oftener than this.
            models.Index(fields=["rotation", "stale_since"], name="member_by_staleness"),
            models.Index(
                fields=["rotation", "status", "rank_phase", "band", "depth", "emphasis", "attempted_at", "routine"],
                name="member_by_rank",
            ),
            models.Index(fields=["rotation", "status", "due_at"], name="member_by_due"),
            models.Index(fields=["rotation", "status", "retry_tick"], name="member_by_retry"),
        ],
        "constraints": [
            models.CheckConstraint(condition=Q(status__in=MEMBERS), name="member_status_is_known"),
            models.CheckConstraint(
                condition=Q(status="IN_FLIGHT", run__isnull=False) | (~Q(status="IN_FLIGHT") & Q(run__isnull=True)),
                name="member_in_flight_has_a_run",
            ),
            models.CheckConstraint(
                condition=~Q(status="FRESH") | Q(due_at__isnull=False), name="member_fresh_has_an_end"
            ),
            models.CheckConstraint(
                condition=~Q(status="FAILED") | Q(retry_tick__isnull=False), name="member_failed_has_a_tick"
            ),
        ],
    },
)

SAMPLE = migrations.CreateModel(
    name="RotationSample",
    fields=[
        ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
        (
            "rotation",
            models.ForeignKey(db_index=False, on_delete=CASCADE, related_name="samples", to="routines.rotation"),
        ),
        ("at", models.DateTimeField()),
        ("owed", models.PositiveIntegerField()),
        ("in_flight", models.PositiveIntegerField()),
        ("fresh", models.PositiveIntegerField()),
        ("failing", models.PositiveIntegerField()),
        ("left_out", models.PositiveIntegerField()),
        ("stalest_seconds", models.FloatField(help_text="NULL: it had no members.", null=True)),
        ("median_seconds", models.FloatField(null=True)),
    ],
    options={
        "ordering": ["rotation", "at"],
        "constraints": [models.UniqueConstraint(fields=("rotation", "at"), name="one_sample_at_a_time")],
    },
)


class Migration(migrations.Migration):
    dependencies = [
        ("routines", "0007_hints"),
    ]

    operations = [
        ROTATION,
        MEMBER,
        SAMPLE,
        migrations.AddField(
            model_name="routine",
            name="rotation",
            field=models.ForeignKey(
                blank=True,
                help_text="Which rotation keeps it fresh; only for routines that fire by hand.",
                null=True,
                on_delete=SET_NULL,
                related_name="routines",
                to="routines.rotation",
            ),
        ),
        migrations.AddField(
            model_name="routine",
            name="phases",
            field=models.JSONField(
                blank=True,
                default=list,
                help_text="Of a rotation's member: what a cycle runs. Empty: as the rotation says.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="routinerun",
            name="rotation",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=DO_NOTHING,
                related_name="runs",
                to="routines.rotation",
            ),
        ),
        migrations.AddField(
            model_name="routinerun",
            name="phase",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Of a rotation's run: which phase of the cycle.",
                max_length=64,
            ),
        ),
        migrations.AddField(
            model_name="routinerun",
            name="tick",
            field=models.UUIDField(help_text="The run of the rotation's own routine that fired it.", null=True),
        ),
        migrations.AddIndex(
            model_name="routinerun",
            index=models.Index(condition=Q(rotation__isnull=False), fields=["rotation", "id"], name="run_by_rotation"),
        ),
        migrations.AddIndex(
            model_name="routinerun",
            index=models.Index(condition=Q(tick__isnull=False), fields=["tick"], name="run_by_tick"),
        ),
        migrations.AddConstraint(
            model_name="routine",
            constraint=models.CheckConstraint(
                condition=Q(rotation__isnull=True) | Q(trigger_kind="MANUAL"), name="routine_of_a_rotation_is_manual"
            ),
        ),
        migrations.AlterField(
            model_name="routinerun",
            name="reason",
            field=models.CharField(blank=True, choices=words(REASONS), db_default="", default="", max_length=24),
        ),
        migrations.AlterField(
            model_name="routinerun",
            name="trigger",
            field=models.CharField(choices=words(TRIGGERS), db_default="schedule", default="schedule", max_length=24),
        ),
        migrations.RemoveConstraint(model_name="routinerun", name="run_trigger_is_known"),
        migrations.AddConstraint(
            model_name="routinerun",
            constraint=models.CheckConstraint(condition=Q(trigger__in=TRIGGERS), name="run_trigger_is_known"),
        ),
        migrations.RunPython(migrations.RunPython.noop, use_older_words),
    ]
