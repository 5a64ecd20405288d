"""Filters of lists that people save; the indexes of the lists are made beside the work, by the next one."""

from django.db import migrations, models

from routines_app.models import ledger_time


class Migration(migrations.Migration):
    dependencies = [("routines", "0014_runs_indexes")]

    operations = [
        migrations.CreateModel(
            name="SavedFilter",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("listed", models.CharField(help_text="Which list: the name of its model.", max_length=64)),
                (
                    "owner",
                    models.CharField(
                        blank=True, default="", help_text="Whose it is; empty: everybody's.", max_length=64
                    ),
                ),
                ("name", models.CharField(max_length=60)),
                ("query", models.TextField(help_text="What stands behind the question mark.")),
                ("made_by", models.CharField(blank=True, default="", max_length=255)),
                ("created_at", models.DateTimeField(default=ledger_time.now, editable=False)),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(fields=("listed", "owner", "name"), name="one_saved_filter_per_name")
                ],
                "permissions": [("share_savedfilter", "Can save filters of lists for everybody")],
                "default_permissions": (),
            },
        ),
    ]
