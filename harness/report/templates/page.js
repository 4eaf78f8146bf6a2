"use strict";
(() => {
  // Numbers before words, numbers by value; a table without this script is only not sortable.
  const value = (row, column) => {
    const text = row.cells[column].textContent.trim();
    const number = /^[-+]?[\d.,]+(e[-+]?\d+)?/.exec(text);
    return number ? Number(number[0].replaceAll(",", "")) : text;
  };
  const order = (a, b) =>
    typeof a === typeof b ? (typeof a === "number" ? a - b : a.localeCompare(b)) : typeof a === "number" ? -1 : 1;
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((each) => each.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0];
        const rows = [...body.rows].map((row) => [value(row, column), row]);
        rows.sort((a, b) => (down ? order(b[0], a[0]) : order(a[0], b[0])));
        body.append(...rows.map((pair) => pair[1]));
      });
    });
  }
  // A link into what is folded up unfolds it.
  const unfold = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    for (let each = target; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();
})();
