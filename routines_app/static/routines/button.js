// The "Run now" button on a project's own pages: posts without leaving the page and follows the run to its end.
(function () {
  "use strict";
  const PERIOD = 1500;

  // What people read is the page's: data-say-pending and so on, in its language.
  function say(status, word) { return status.dataset["say" + word.charAt(0) + word.slice(1).toLowerCase()] || word; }

  function show(form, run) {
    const status = form.querySelector("[data-routine-status]");
    const told = run.progress && run.progress.total ? " " + Math.round(100 * run.progress.done / run.progress.total) + " %" : "";
    status.dataset.status = run.status;
    status.textContent = say(status, run.status) + (run.active ? told : run.why ? " (" + run.why + ")" : "");
    form.querySelector("button").disabled = run.active;
  }

  async function follow(form, id) {
    const response = await fetch(form.dataset.runsUrl + "?limit=50", { credentials: "same-origin" });
    if (!response.ok) { throw new Error("status " + response.status); }
    const run = (await response.json()).runs.find((one) => one.id === id);
    if (run) { show(form, run); }
    if (!run || run.active) { setTimeout(() => watch(form, id), PERIOD); }
  }

  function watch(form, id) {
    follow(form, id).catch(() => setTimeout(() => watch(form, id), PERIOD * 4));
  }

  async function submit(event) {
    event.preventDefault();
    const form = event.currentTarget;
    const data = new FormData(form);
    data.delete("next");  // an answer, not a redirect
    form.querySelector("button").disabled = true;
    const response = await fetch(form.action, { method: "POST", body: data, credentials: "same-origin" });
    const answer = await response.json().catch(() => ({}));
    form.elements.idempotency_key.value = Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(16)).join("");
    if (!response.ok) {
      const status = form.querySelector("[data-routine-status]");
      status.textContent = answer.error || say(status, "REFUSED");
      form.querySelector("button").disabled = false;
      return;
    }
    show(form, answer.run);
    if (form.dataset.runsUrl && answer.run.active) { watch(form, answer.run.id); } else { form.querySelector("button").disabled = false; }
  }

  for (const form of document.querySelectorAll("[data-routine-button]")) { form.addEventListener("submit", submit); }
})();
