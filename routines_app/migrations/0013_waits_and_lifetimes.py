"""What a run has waited for, which run was in its way, and from when to when beats and workers were there."""

from django.db import migrations, models
from django.db.models import Q

import routines_app.models.json_field


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
    ]
