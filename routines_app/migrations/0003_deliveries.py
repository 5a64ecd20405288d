"""Who started a run, how long its heart may be silent, when its body ended, and whether its end has been told."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("routines", "0002_plain_indexes"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="routinerun",
            options={
                "ordering": ["-id"],
                "permissions": [
                    ("cancel_routinerun", "Can cancel a run"),
                    ("abandon_routinerun", "Can end a run whose body is gone or cannot be stopped"),
                ],
            },
        ),
        migrations.AddField(
            model_name="routinerun",
            name="body_ended_at",
            field=models.DateTimeField(help_text="When its body ended, if that outlived the run.", null=True),
        ),
        migrations.AddField(
            model_name="routinerun",
            name="orphan_seconds",
            field=models.PositiveIntegerField(
                help_text="How long its heart may be silent; NULL: as the setting says.", null=True
            ),
        ),
        migrations.AddField(
            model_name="routinerun",
            name="start_token",
            field=models.UUIDField(
                help_text="Of the delivery that started it: only that one owns the body.", null=True
            ),
        ),
        migrations.AddField(
            model_name="routinerun",
            name="tell_after",
            field=models.DateTimeField(
                help_text="When a beat tells of its end; NULL: it was told, or nobody listens.", null=True
            ),
        ),
        migrations.AlterField(
            model_name="routinerun",
            name="reason",
            field=models.CharField(
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
                    ("abandoned", "Abandoned"),
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
                    ("routine_held", "Routine held"),
                    ("redis_away", "Redis away"),
                    ("publish_failed", "Publish failed"),
                    ("overdue", "Overdue"),
                ],
                db_default="",
                default="",
                max_length=24,
            ),
        ),
        # Where there are no partial indexes the condition is left out: no plain one is needed beside it, as in 0002.
        migrations.AddIndex(
            model_name="routinerun",
            index=models.Index(
                condition=models.Q(("tell_after__isnull", False)), fields=["tell_after"], name="run_untold"
            ),
        ),
    ]
