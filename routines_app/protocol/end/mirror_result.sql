-- Write the django-celery-results record of a run. What takes the place of "ended" has the status of the ended run.
-- A record that is there already is written over, but for when it was created.
-- Arguments: by the names of the columns, with mirror_ before them.
INSERT INTO django_celery_results_taskresult (
    task_id, periodic_task_name, task_name, task_args, task_kwargs, status, worker, content_type, content_encoding,
    result, traceback, meta, date_created, date_started, date_done
)
SELECT %(mirror_task_id)s, %(mirror_periodic_task_name)s, %(mirror_task_name)s, %(mirror_task_args)s,
       %(mirror_task_kwargs)s,
       CASE ended.status WHEN 'SUCCESS' THEN 'SUCCESS' WHEN 'FAILED' THEN 'FAILURE' ELSE 'REVOKED' END,
       %(mirror_worker)s, 'application/json', 'utf-8', %(mirror_result)s, %(mirror_traceback)s, %(mirror_meta)s,
       %(mirror_date_created)s::timestamptz, %(mirror_date_started)s::timestamptz, %(mirror_date_done)s::timestamptz
FROM {ended}
ON CONFLICT (task_id) DO UPDATE
SET periodic_task_name = EXCLUDED.periodic_task_name, task_name = EXCLUDED.task_name, task_args = EXCLUDED.task_args,
    task_kwargs = EXCLUDED.task_kwargs, status = EXCLUDED.status, worker = EXCLUDED.worker,
    content_type = EXCLUDED.content_type, content_encoding = EXCLUDED.content_encoding, result = EXCLUDED.result,
    traceback = EXCLUDED.traceback, meta = EXCLUDED.meta, date_started = EXCLUDED.date_started,
    date_done = EXCLUDED.date_done
RETURNING task_id
