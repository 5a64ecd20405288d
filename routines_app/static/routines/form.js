// The routine form: only the fields that the trigger needs, and a preview of the schedule while typing.
(function () {
  "use strict";
  const aside = document.querySelector("[data-preview-url]");
  const form = aside && aside.closest("form");
  if (!form) { return; }
  const target = aside.querySelector("[data-preview]");
  const zone = (document.querySelector("[data-page-zone]") || { dataset: {} }).dataset.pageZone || "";  // of typed times
  const PAUSE = 250;  // milliseconds after the last key
  const NEEDS = {
    CRON: ["cron", "timezone", "start_at", "end_at", "jitter_ms"],
    INTERVAL: ["interval_ms", "start_at", "end_at", "jitter_ms"],
    ONCE: ["once_at", "timezone", "start_at", "end_at", "jitter_ms"],
    MANUAL: [],
  };
  const OF_ONE = ["cron", "interval_ms", "once_at"];
  const SCHEDULE = [...new Set(Object.values(NEEDS).flat())];
  const SENT = [...SCHEDULE, "trigger_kind", "task", "queue", "concurrency_policy"];
  let timer = null;
  let asked = 0;

  function showNeeded() {
    const kind = form.elements.trigger_kind;
    if (!kind) { return; }
    for (const name of SCHEDULE) {
      const row = form.querySelector(".form-row.field-" + name);
      if (row) { row.hidden = !NEEDS[kind.value].includes(name) && !row.querySelector(".errorlist, .rt-typing-error"); }
    }
    for (const name of OF_ONE) {  // what a person sees go with its trigger is not sent; the server refuses what it cannot use
      const row = form.querySelector(".form-row.field-" + name);
      const input = form.elements[name];
      if (row && input) { input.disabled = row.hidden; }
    }
  }

  function showErrors(errors) {
    for (const old of form.querySelectorAll(".rt-typing-error")) { old.remove(); }
    for (const name of SCHEDULE) {
      const input = form.elements[name];
      if (!input || !input.setAttribute) { continue; }
      input.setAttribute("aria-invalid", String(name in errors));
      if (name in errors && input.value) {
        const words = document.createElement("p");
        words.className = "rt-typing-error";
        words.textContent = errors[name];
        input.closest(".form-row").append(words);
      }
    }
    showNeeded();
  }

  async function preview() {
    const mine = ++asked;
    const data = new FormData();
    data.append("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
    data.append("routine", aside.dataset.routine);
    for (const name of SENT) {
      if (form.elements[name]) { data.append(name, form.elements[name].value); }
    }
    const response = await fetch(aside.dataset.previewUrl, { method: "POST", body: data, credentials: "same-origin", headers: { "X-Routines-Zone": zone } });
    if (!response.ok || mine !== asked) { return; }  // a newer question is on its way
    const answer = await response.json();
    target.innerHTML = answer.html;
    showErrors(answer.errors);
  }

  function later() {
    clearTimeout(timer);
    timer = setTimeout(() => preview().catch(() => {}), PAUSE);
  }

  form.addEventListener("input", (event) => {
    if (event.target.name === "trigger_kind") { showNeeded(); }
    if (SENT.includes(event.target.name)) { later(); }
  });
  showNeeded();
  if (form.elements.trigger_kind) { preview().catch(() => {}); } else { aside.hidden = true; }
})();
