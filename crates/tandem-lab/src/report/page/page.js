"use strict";
// Sorting: a heading is a button; numbers by their full value, words by the alphabet, stable.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  if (!body || body.rows.length < 2) continue;
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => {
        const data = row.cells[at].querySelector("data");
        return data && data.value !== "" ? Number(data.value) : null;
      };
      const words = (row) => row.cells[at].textContent;
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === null && y === null) {
          const order = words(a).localeCompare(words(b), "en", { numeric: true });
          return down ? -order : order;
        }
        if (x === null || y === null) return x === null ? 1 : -1;
        return down ? y - x : x - y;
      });
      body.append(...rows);
    });
  });
}
// A number shows its full value where it is pointed at.
document.addEventListener("pointerover", (event) => {
  const data = event.target.closest && event.target.closest("data");
  if (data && !data.title && data.value !== "") data.title = data.value;
});
// Paper has nothing to click at: values and marks are opened for it, and closed again. What is long
// (every run, commands, maps) is printed if the reader has opened it.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not(.fold):not([open])")];
  opened.forEach((details) => { details.open = true; });
});
addEventListener("afterprint", () => opened.forEach((details) => { details.open = false; }));
