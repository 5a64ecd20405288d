"""Template tags: `routines` for a project's own pages, `routines_admin` for the admin's templates.

Each turns values into markup. Verbs are called by the views that a button posts to, not by a tag.
"""
