"""Indexes of large tables, made beside the work: PostgreSQL can (CONCURRENTLY), outside of any transaction."""

from __future__ import annotations

from typing import Any

from django.db import migrations


class AddIndexBeside(migrations.AddIndex):
    """`AddIndex` for a migration with `atomic = False`, which can be applied again after it was cut off: what is there
    stays, and what PostgreSQL has left half made is made anew."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:  # noqa: ARG002
        model = to_state.apps.get_model(app_label, self.model_name)
        if not self.allow_migrate_model(schema_editor.connection.alias, model):
            return
        drop_half_made(schema_editor, self.index.name)
        if self.index.name not in indexes_of(schema_editor, model):
            schema_editor.add_index(model, self.index, **beside(schema_editor))

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:  # noqa: ARG002
        model = from_state.apps.get_model(app_label, self.model_name)
        if not self.allow_migrate_model(schema_editor.connection.alias, model):
            return
        if self.index.name in indexes_of(schema_editor, model):
            schema_editor.remove_index(model, self.index, **beside(schema_editor))


def beside(schema_editor: Any) -> dict[str, bool]:
    """What to add or remove an index with."""
    connection = schema_editor.connection
    return {"concurrently": True} if connection.vendor == "postgresql" and not connection.in_atomic_block else {}


def drop_half_made(schema_editor: Any, name: str) -> None:
    """An index that was cut off in the making is there, is kept up to date and serves nobody."""
    connection = schema_editor.connection
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [name])
        row = cursor.fetchone()
    if row and not row[0]:
        schema_editor.execute(f"DROP INDEX {'CONCURRENTLY ' if beside(schema_editor) else ''}{name}")


def indexes_of(schema_editor: Any, model: Any) -> set[str]:
    with schema_editor.connection.cursor() as cursor:
        return set(schema_editor.connection.introspection.get_constraints(cursor, model._meta.db_table))
