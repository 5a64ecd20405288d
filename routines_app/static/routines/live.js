// Replaces the content of [data-live-url] every few seconds while the page can be seen. When the status that the
// server reports is not the one the page was made for, the page loads itself again: its buttons have changed too.
(function () {
  "use strict";
  const region = document.querySelector("[data-live-url]");
  if (!region) { return; }
  const toggle = document.querySelector("[data-live-toggle]");
  const note = document.querySelector("[data-live-note]");
  const period = Number(region.dataset.liveSeconds || 5) * 1000;
  const zone = (document.querySelector("[data-page-zone]") || { dataset: {} }).dataset.pageZone || "";  // of the whole page
  let paused = false;

  function tell(words) {
    if (note && note.textContent !== words) { note.textContent = words; }
  }

  // A person who reads, selects or tabs inside the region is not interrupted.
  function busy() {
    const selection = document.getSelection();
    return region.contains(document.activeElement) || (selection && !selection.isCollapsed && region.contains(selection.anchorNode));
  }

  async function update() {
    if (paused || document.hidden || busy()) { return; }
    const response = await fetch(region.dataset.liveUrl, { headers: { "X-Requested-With": "fetch", "X-Routines-Zone": zone }, credentials: "same-origin" });
    if (!response.ok || response.redirected) { throw new Error("status " + response.status); }
    const status = response.headers.get("X-Routines-Status");
    if (status && status !== region.dataset.liveStatus) { window.location.reload(); return; }
    region.innerHTML = await response.text();
    tell("");
  }

  function schedule() {
    setTimeout(() => update().catch(() => tell("Cannot reach the server; trying again.")).finally(schedule), period);
  }

  if (toggle) {
    toggle.addEventListener("click", () => {
      paused = !paused;
      toggle.setAttribute("aria-pressed", String(paused));
      tell(paused ? "Updates are paused." : "");
    });
  }
  schedule();
})();
