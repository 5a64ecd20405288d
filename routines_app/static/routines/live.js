// Keeps what a page shows up to date while the page can be seen, and says when it is not.
//
// Each element with data-live-url asks that address every data-live-seconds. With data-live-of (selectors) the answer is
// a whole page, of which these parts are taken, or what is around them (data-live-around) when one of them has come or
// gone, as the table of an empty list; without it the answer is what the element contains. When the status that the
// server reports is not the one the page was made for (data-live-status), the page loads itself again: its buttons have
// changed too.
//
// What is there is changed, not replaced: what has the focus, is chosen, selected, opened or scrolled stays so. Fields of
// forms belong to the person: they are never touched. So is what has data-live-keep.
//
// What it says about itself stands in the page's language at the element that shows it: data-say-paused and so on.
(function () {
  "use strict";
  const lives = Array.from(document.querySelectorAll("[data-live-url]"));
  const toggle = document.querySelector("[data-live-toggle]");
  const note = document.querySelector("[data-live-note]");
  const say = note ? note.dataset : {};
  const PATIENCE = 10000;  // for an answer
  const FIELDS = ["INPUT", "TEXTAREA", "SELECT"];
  const zone = (document.querySelector("[data-page-zone]") || { dataset: {} }).dataset.pageZone || "";  // of the whole page
  let paused = false;

  // Rows and sections that come, go and change places are known by what they lead to, or by their headings.
  function keyOf(node) {
    if (node.nodeType !== Node.ELEMENT_NODE) { return ""; }
    if (node.dataset.liveKey || node.id) { return node.dataset.liveKey || node.id; }
    if (node.tagName === "TR") {
      const link = node.querySelector("a[href]");
      return link ? link.getAttribute("href") : "";
    }
    const heading = node.querySelector(":scope > h2, :scope > .rt-card-head > h2");
    return heading ? heading.textContent : "";
  }

  function isSelected(node) {
    const selection = document.getSelection();
    return Boolean(selection) && !selection.isCollapsed && selection.containsNode(node, true);
  }

  // A person is at it: a field, the focus, selected text, a row that was chosen.
  function isHeld(node) {
    if (isSelected(node)) { return true; }
    if (node.nodeType !== Node.ELEMENT_NODE) { return false; }
    return node.contains(document.activeElement) || Boolean(node.querySelector("input:checked")) || node.matches("input:checked");
  }

  function isTheirOwn(old) {
    return FIELDS.includes(old.tagName) || "liveKeep" in old.dataset || "liveUrl" in old.dataset || "liveNote" in old.dataset;
  }

  function change(old, fresh) {
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.data !== fresh.data && !isSelected(old)) { old.data = fresh.data; }
      return;
    }
    // A script says how long ago that is; unless it has become another kind of time meanwhile, as one that is overdue.
    const sameTime = old.matches("time.rt-time") && old.dateTime === fresh.dateTime && old.className === fresh.className;
    if (sameTime || (old.dataset && isTheirOwn(old))) { return; }
    changeAttributes(old, fresh);
    changeChildren(old, fresh);
  }

  function changeAttributes(old, fresh) {
    const isChosen = old.tagName === "TR" && old.classList.contains("selected");
    const left = (name) => (name === "open" && old.tagName === "DETAILS") || (name === "class" && isChosen);
    for (const { name, value } of Array.from(fresh.attributes)) {
      if (!left(name) && old.getAttribute(name) !== value) { old.setAttribute(name, value); }
    }
    for (const { name } of Array.from(old.attributes)) {
      if (!left(name) && !fresh.hasAttribute(name)) { old.removeAttribute(name); }
    }
  }

  function isAlike(old, fresh) {
    return old.nodeType === fresh.nodeType && old.nodeName === fresh.nodeName && keyOf(old) === keyOf(fresh);
  }

  function changeChildren(old, fresh) {
    const left = new Set(old.childNodes);
    let place = old.firstChild;
    for (const wanted of Array.from(fresh.childNodes)) {
      while (place && !left.has(place)) { place = place.nextSibling; }
      const found = place && isAlike(place, wanted) ? place : keyOf(wanted) && Array.from(left).find((one) => isAlike(one, wanted));
      if (found) {
        left.delete(found);
        if (found !== place && !isHeld(found)) { old.insertBefore(found, place); }
        change(found, wanted);
      } else if (place && !keyOf(place) && !keyOf(wanted) && place.nodeName !== "#text" && !isHeld(place)) {
        left.delete(place);
        const made = document.importNode(wanted, true);
        place.replaceWith(made);
        place = made;
      } else {
        old.insertBefore(document.importNode(wanted, true), place);
        continue;
      }
      place = found && found !== place ? place : place.nextSibling;
    }
    for (const gone of left) { if (!isHeld(gone)) { gone.remove(); } }
  }

  function show(live, text) {
    if (!live.dataset.liveOf) {
      const answer = document.createElement("template");
      answer.innerHTML = text;
      changeChildren(live, answer.content);
      return;
    }
    const page = new DOMParser().parseFromString(text, "text/html");
    const pairs = (selectors) => selectors.split(",").map((one) => [document.querySelector(one), page.querySelector(one)]);
    let parts = pairs(live.dataset.liveOf);
    if (live.dataset.liveAround && parts.some(([old, fresh]) => !old !== !fresh)) { parts = pairs(live.dataset.liveAround); }
    for (const [old, fresh] of parts) { if (old && fresh) { changeChildren(old, fresh); } }
  }

  async function ask(live) {
    const options = { headers: { "X-Requested-With": "fetch", "X-Routines-Zone": zone }, credentials: "same-origin", signal: AbortSignal.timeout(PATIENCE) };
    const response = await fetch(live.dataset.liveUrl, options).catch((error) => {
      throw error.name === "TimeoutError" ? error : new Error(say.sayUnreachable);
    });
    if (response.redirected) { throw new Error(say.sayLoggedOut); }
    if (!response.ok) { throw new Error((say.sayError || "").replace("{status}", response.status)); }
    const status = response.headers.get("X-Routines-Status");
    if (status && status !== live.dataset.liveStatus) { window.location.reload(); return; }
    show(live, await response.text());
  }

  const told = new Map(lives.map((live) => [live, { at: Date.now(), why: "", asking: false }]));

  function periodOf(live) { return Number(live.dataset.liveSeconds || 5) * 1000; }

  async function update(live) {
    const state = told.get(live);
    if (paused || document.hidden || state.asking) { return; }
    state.asking = true;
    const began = Date.now();
    try {
      await ask(live);
      state.at = began;
      state.why = "";
    } catch (error) {
      state.why = error.name === "TimeoutError" ? say.saySilent : error.message;
    }
    state.asking = false;
    tell();
  }

  // Also after the machine has slept: the clock has gone on, and timers have not.
  function tell() {
    if (!note) { return; }
    let words = paused ? say.sayPaused : "";
    let isOld = false;
    for (const [live, state] of told) {
      const age = Date.now() - state.at;
      if (age > 2 * periodOf(live) + PATIENCE / 2 || (state.why && age > 2 * periodOf(live))) {
        isOld = true;
        words = [paused ? say.sayPaused : state.why, say.sayOld.replace("{seconds}", Math.round(age / 1000))].join(" ").trim();
        break;
      }
    }
    if (note.textContent !== words) { note.textContent = words; }
    note.classList.toggle("rt-is-old", isOld);
  }

  function schedule(live) {
    setTimeout(() => update(live).finally(() => schedule(live)), periodOf(live));
  }

  if (toggle) {
    toggle.addEventListener("click", () => {
      paused = !paused;
      toggle.setAttribute("aria-pressed", String(paused));
      tell();
    });
  }
  document.addEventListener("visibilitychange", () => { tell(); lives.forEach(update); });
  lives.forEach(schedule);
  if (lives.length) { setInterval(tell, 1000); }
})();
