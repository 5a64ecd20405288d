"""For processes of a test: OpenTelemetry's instrumentation of Celery, whose spans go to a file.

Each line of the file named by ROUTINES_TOOL_LOG is one span that has ended.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from opentelemetry import trace
from opentelemetry.instrumentation.celery import CeleryInstrumentor
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from tests.acceptance.tools.lines import write_line


class ToFile(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        for span in spans:
            write_line(json.loads(span.to_json()))
        return SpanExportResult.SUCCESS


provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ToFile()))
trace.set_tracer_provider(provider)
instrumentor: Any = CeleryInstrumentor
instrumentor().instrument()
