"""Pictures of the policies, as plain SVG: a line for each slot, a bar for its body, its end in words."""

from __future__ import annotations

from html import escape

from reference.stories import CatchUpPolicy, ConcurrencyPolicy, Run, Story, catch_up, overlap

LEFT, TOP, ROW, WIDE = 60, 62, 24, 560  # pixels
STYLE = """
  .card { fill: #ffffff; stroke: #d0d7de } .text { fill: #1f2328 } .faint { fill: #59636e } .grid { stroke: #d8dee4 }
  .away { fill: #eaeef2 } .success { fill: #1a7f37 } .cancelled { fill: #bc4c00 } .waits { fill: none; stroke: #9a6700 }
  .slot { fill: #1f2328 } .skipped { fill: none; stroke: #818b98 }
  @media (prefers-color-scheme: dark) {
    .card { fill: #151b23; stroke: #3d444d } .text { fill: #f0f6fc } .faint { fill: #9198a1 } .grid { stroke: #2f353d }
    .away { fill: #262c36 } .success { fill: #3fb950 } .cancelled { fill: #f0883e } .waits { stroke: #d29922 }
    .slot { fill: #f0f6fc } .skipped { stroke: #9198a1 }
  }
  text { font: 13px system-ui, sans-serif } .title { font: 600 14px ui-monospace, monospace }
"""


def files() -> dict[str, str]:
    """Each picture's name in docs/, and its text."""
    stories = {f"overlap-{policy.value.lower()}": overlap(policy) for policy in ConcurrencyPolicy}
    stories |= {f"catch-up-{policy.value.lower()}": catch_up(policy) for policy in CatchUpPolicy}
    return {f"images/{name}.svg": _drawn(story) for name, story in stories.items()}


def _drawn(story: Story) -> str:
    last = 90 if story.outage else 60
    scale = WIDE / last
    bottom = TOP + ROW * len(story.runs)
    width, height = LEFT + WIDE + 190, bottom + 16
    told = "; ".join(_sentence(run) for run in story.runs)
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<title>{escape(story.title)}: {escape(told)}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
        f'<text class="text title" x="16" y="24">{escape(story.title)}</text>',
    ]
    if story.outage:
        begin, end = (LEFT + minute * scale for minute in story.outage)
        parts.append(f'<rect class="away" x="{begin:.0f}" y="32" width="{end - begin:.0f}" height="{bottom - 32}"/>')
        parts.append(f'<text class="faint" x="{(begin + end) / 2:.0f}" y="24" text-anchor="middle">no beat runs</text>')
    for minute in range(0, last, 10):
        x = LEFT + minute * scale
        parts.append(f'<line class="grid" x1="{x:.0f}" x2="{x:.0f}" y1="54" y2="{bottom}"/>')
        parts.append(f'<text class="faint" x="{x:.0f}" y="48" text-anchor="middle">{_clock(minute)}</text>')
    for place, run in enumerate(story.runs):
        parts += _row(run, TOP + ROW * place, scale)
    return "\n".join([*parts, "</svg>\n"])


def _row(run: Run, y: int, scale: float) -> list[str]:
    slot = LEFT + run.slot * scale
    end = LEFT + (run.slot if run.ended is None else run.ended) * scale
    begin = end if run.began is None else LEFT + run.began * scale
    shapes = [f'<circle class="slot" cx="{slot:.0f}" cy="{y + 9}" r="3.5"/>']
    if begin > slot:
        span = f'x1="{slot:.0f}" x2="{begin:.0f}" y1="{y + 9}" y2="{y + 9}"'
        kind = "skipped" if run.count > 1 else "waits"
        shapes.append(f'<line class="{kind}" {span} stroke-width="2" stroke-dasharray="3 3"/>')
    if end > begin:
        kind = "cancelled" if run.fate.startswith("CANCELLED") else "success"
        box = f'x="{begin:.0f}" y="{y + 2}" width="{end - begin:.0f}" height="14"'
        shapes.append(f'<rect class="{kind}" {box} rx="3"/>')
    many = f" ({run.count} slots, one row)" if run.count > 1 else ""
    shapes.append(f'<text class="text" x="{end + 10:.0f}" y="{y + 14}">{escape(run.fate)}{many}</text>')
    return shapes


def _sentence(run: Run) -> str:
    slots = _clock(run.slot) if run.count == 1 else f"{_clock(run.slot)} to {_clock(run.ended or 0)}"
    began = "" if run.began in (None, run.slot) else f" begins at {_clock(run.began or 0)} and"
    return f"{slots}{began} is {run.fate}"


def _clock(minute: int) -> str:
    return f"{minute // 60 or ''}:{minute % 60:02}"
