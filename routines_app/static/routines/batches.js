// Goes on with a batch of pauses by itself, piece after piece. Without this script its button does.
(function () {
  "use strict";
  const form = document.querySelector("form[data-goes-on]");
  if (form) { window.setTimeout(() => form.requestSubmit(), 250); }
})();
