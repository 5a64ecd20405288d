# The demo project in a container, for docker-compose.yml.
FROM python:3.12-slim

ENV PYTHONUNBUFFERED=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /app

COPY requirements/demo.txt requirements/demo.txt
RUN pip install --quiet -r requirements/demo.txt

COPY pyproject.toml README.md LICENSE manage.py ./
COPY routines_app routines_app
COPY project project
RUN pip install --quiet --no-deps --no-build-isolation --editable . && useradd --create-home app
USER app
