// Keeps relative times fresh and shows the viewer's own time on hover. The server wrote a good answer already.
(function () {
  "use strict";
  const UNITS = [[31536000, "y"], [86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

  function said(seconds) {
    const unit = UNITS.find(([size]) => Math.abs(seconds) >= size);
    if (!unit) { return "now"; }
    const amount = Math.floor(Math.abs(seconds) / unit[0]) + " " + unit[1];
    return seconds > 0 ? "in " + amount : amount + " ago";
  }

  function refresh() {
    const now = Date.now();
    for (const time of document.querySelectorAll("time.rt-time")) {
      const at = new Date(time.dateTime);
      const words = said((at - now) / 1000);
      if (time.textContent !== words) { time.textContent = words; }
      if (!time.dataset.local) {
        time.dataset.local = "1";
        time.title += "\nYours: " + at.toLocaleString();
      }
    }
  }

  refresh();
  setInterval(refresh, 1000);
})();
