// Goes on with the next piece of an act on many runs by itself; without it, a person presses the same button.
(function () {
  "use strict";
  const form = document.querySelector("form[data-continues]");
  if (!form) { return; }
  let stopped = false;
  for (const link of document.querySelectorAll("a")) { link.addEventListener("click", () => { stopped = true; }); }
  setTimeout(() => { if (!stopped) { form.requestSubmit(); } }, 200);
})();
