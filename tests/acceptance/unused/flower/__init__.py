"""Stands where the `celery` command looks for Flower, in processes that are not Flower."""
