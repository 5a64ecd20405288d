// One box that chooses all members of the page, and how many are chosen. Without this script the boxes work one by one.
(function () {
  "use strict";
  const form = document.querySelector("[data-members]");
  const all = form && form.querySelector("[data-choose-all]");
  if (!all) { return; }
  const master = all.querySelector("input");
  const told = form.querySelector("[data-chosen]");
  const nobody = told.textContent;
  const boxes = Array.from(form.querySelectorAll("input[name=members]"));

  function tell() {
    const chosen = boxes.filter((box) => box.checked).length;
    master.checked = chosen === boxes.length;
    master.indeterminate = chosen > 0 && chosen < boxes.length;
    told.textContent = chosen ? told.dataset.chosen.replace("{count}", chosen) : nobody;
  }

  master.addEventListener("change", () => { boxes.forEach((box) => { box.checked = master.checked; }); tell(); });
  boxes.forEach((box) => box.addEventListener("change", tell));
  all.hidden = false;
  tell();
})();
