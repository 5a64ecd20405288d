// Keeps relative times fresh by the server's clock (this machine's may be wrong), and tells the server the viewer's
// timezone, in which the next pages are written. The absolute times are the server's work, and the words are the page's.
(function () {
  "use strict";
  const say = (document.querySelector("[data-say-ago]") || { dataset: {} }).dataset;
  const UNITS = [[31536000, "sayYear"], [86400, "sayDay"], [3600, "{count} h"], [60, "{count} min"], [1, "{count} s"]];
  const COOKIE = "routines_viewer_zone";
  const loading = performance.getEntriesByType("navigation")[0];
  let told = null;       // what the server's clock said,
  let toldAt = 0;        // and when it did, by a clock that nobody sets

  function serverNow() {
    return told + performance.now() - toldAt;
  }

  // The page says what time it is, and so does each part that replaces itself: after a sleep of this machine the
  // clock that nobody sets may be behind. What comes late says less than is known already.
  function listen() {
    for (const element of document.querySelectorAll("[data-now]")) {
      const said = Date.parse(element.dataset.now);
      if (told !== null && said <= serverNow()) { continue; }
      toldAt = told === null && loading ? loading.responseStart : performance.now();
      told = said;
    }
  }

  function words(seconds) {
    const unit = UNITS.find(([size]) => Math.abs(seconds) >= size);
    if (!unit) { return say.sayNow; }
    const count = Math.floor(Math.abs(seconds) / unit[0]);
    const amount = (say[unit[1] + (count === 1 ? "" : "s")] || unit[1]).replace("{count}", count);
    return (seconds > 0 ? say.sayIn : say.sayAgo).replace("{amount}", amount);
  }

  function refresh() {
    listen();
    if (told === null || !say.sayAgo) { return; }
    for (const time of document.querySelectorAll("time.rt-time")) {
      const ago = time.querySelector(".rt-ago");
      const said = words((Date.parse(time.dateTime) - serverNow()) / 1000);
      if (ago && ago.textContent !== said) { ago.textContent = said; }
    }
  }

  function tellZone() {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
    if (!/^[A-Za-z0-9_+/-]+$/.test(zone)) { return; }
    const secure = location.protocol === "https:" ? "; secure" : "";
    document.cookie = COOKIE + "=" + zone + "; path=/; max-age=31536000; samesite=lax" + secure;
  }

  tellZone();
  refresh();
  setInterval(refresh, 1000);
})();
