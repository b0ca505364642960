"use strict";
/* Sorting and filtering of tables, and values under the pointer. The page can be read without it. */
const MIN_FILTERED_ROWS = 5;
const numberIn = text => {
  const found = text.replace(/,/g, "").replace("\u2212", "-").match(/^[^\d-]*(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)/i);
  return found ? Number(found[1]) : NaN;
};
const compared = (one, other) => {
  const [first, second] = [numberIn(one), numberIn(other)];
  if (!Number.isNaN(first) && !Number.isNaN(second)) return first - second;
  if (Number.isNaN(first) !== Number.isNaN(second)) return Number.isNaN(first) ? 1 : -1;
  return one.localeCompare(other);
};
for (const table of document.querySelectorAll("table")) {
  const headings = [...table.tHead.rows[0].cells];
  const rows = [...table.tBodies].flatMap(body => [...body.rows]);
  if (rows.length < 2) continue;
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Sort by this column";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      headings.forEach(other => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const text = row => row.cells[column].textContent.trim();
      rows.sort((one, other) => (down ? -1 : 1) * compared(text(one), text(other)));
      table.tBodies[0].append(...rows);
    });
  });
  if (rows.length < MIN_FILTERED_ROWS) continue;
  const filter = document.createElement("input");
  filter.type = "search";
  filter.placeholder = `Filter ${rows.length} rows`;
  filter.setAttribute("aria-label", filter.placeholder);
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
  });
  table.closest(".scroll").before(filter);
}
const tip = document.body.appendChild(document.createElement("div"));
tip.className = "tip";
tip.hidden = true;
for (const circle of document.querySelectorAll(".canvas circle")) {
  const title = circle.querySelector("title");
  const text = title.textContent;
  title.remove();
  circle.setAttribute("aria-label", text);
  circle.addEventListener("pointerenter", () => {
    tip.textContent = text;
    tip.hidden = false;
    const box = circle.getBoundingClientRect();
    const left = Math.min(box.left + scrollX, document.documentElement.clientWidth - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${box.bottom + scrollY + 6}px`;
  });
  circle.addEventListener("pointerleave", () => { tip.hidden = true; });
}
