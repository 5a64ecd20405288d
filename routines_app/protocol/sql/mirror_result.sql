-- Write the django-celery-results record of a run. Arguments: by the names of the columns.
INSERT INTO django_celery_results_taskresult (
    task_id, periodic_task_name, task_name, task_args, task_kwargs, status, worker, content_type, content_encoding,
    result, traceback, meta, date_created, date_started, date_done
)
VALUES (
    %(task_id)s, %(periodic_task_name)s, %(task_name)s, %(task_args)s, %(task_kwargs)s, %(status)s, %(worker)s,
    %(content_type)s, %(content_encoding)s, %(result)s, %(traceback)s, %(meta)s, %(date_created)s, %(date_started)s,
    %(date_done)s
)
ON CONFLICT (task_id) DO UPDATE
SET status = EXCLUDED.status, result = EXCLUDED.result, traceback = EXCLUDED.traceback, worker = EXCLUDED.worker,
    periodic_task_name = EXCLUDED.periodic_task_name, date_done = EXCLUDED.date_done
