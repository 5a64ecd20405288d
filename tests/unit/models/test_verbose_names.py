"""What the admin calls tables and columns, and says beside the fields of its forms, follows the language."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib import admin
from django.db.models import Field, Model
from django.utils.functional import Promise

from routines_app.admin.form import RoutineForm
from routines_app.admin.pools import PoolForm
from routines_app.models import Pool, Routine
from routines_app.models.verbose_names import COLUMNS, TABLES

OURS = apps.get_app_config("routines")
SHOWN = [model for model in OURS.get_models() if admin.site.is_registered(model)]


@pytest.mark.parametrize("model", SHOWN, ids=lambda model: model.__name__)
def test_a_table_of_the_admin_has_names(model: type[Model]) -> None:
    assert (model._meta.verbose_name, model._meta.verbose_name_plural) == TABLES[model]
    assert isinstance(model._meta.verbose_name, Promise)


@pytest.mark.parametrize("model", COLUMNS, ids=lambda model: model.__name__)
def test_a_column_is_called_as_django_would_call_it(model: type[Model]) -> None:
    """In English: the names are there to be translated."""
    assert {column: str(name) for column, name in COLUMNS[model].items()} == {
        column: column.replace("_", " ") for column in COLUMNS[model]
    }


@pytest.mark.parametrize(("model", "form"), [(Routine, RoutineForm), (Pool, PoolForm)])
def test_what_a_form_takes_from_its_model_can_be_translated(model: type[Model], form: type) -> None:
    """A field that the form does not declare itself has its label and its help from the column."""
    taken = form.base_fields.keys() - form.declared_fields.keys()  # type: ignore[attr-defined]
    columns = [model._meta.get_field(name) for name in taken]
    assert columns
    for column in columns:
        assert isinstance(column, Field)
        assert isinstance(column.verbose_name, Promise), column.name
        assert isinstance(column.help_text, Promise) or not column.help_text, column.name


def test_names_are_no_part_of_migrations() -> None:
    """A better word is not a migration."""
    assert "verbose_name" not in Routine._meta.get_field("max_attempts").deconstruct()[3]  # type: ignore[union-attr]
    assert "verbose_name" not in Routine._meta.original_attrs


def test_the_app_has_a_name() -> None:
    assert isinstance(OURS.verbose_name, Promise)
