"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const make = (tag, cls, text) => {
    const node = document.createElement(tag);
    if (cls) node.className = cls;
    if (text !== undefined) node.textContent = text;
    return node;
  };

  // ── Theme ────────────────────────────────────────────────────────────────────────────────────────────
  const root = document.documentElement, toggle = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const nameTheme = () => { toggle.textContent = isDark() ? "Light" : "Dark"; };
  toggle.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; nameTheme(); });
  system.addEventListener("change", nameTheme);
  nameTheme();

  // ── Copying; the clipboard's own interface is missing in pages that are opened as files ──────────────
  const copy = (text, button) => {
    const area = make("textarea");
    area.value = text;
    area.setAttribute("aria-hidden", "true");
    area.style.cssText = "position:fixed;opacity:0";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    button.focus();
    button.textContent = done ? "Copied" : "Press Ctrl+C";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  };
  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", () => copy(button.previousElementSibling.textContent, button));
  }

  // ── The tree of paths ────────────────────────────────────────────────────────────────────────────────
  const ROW = 28, AHEAD = 8, PRINTED = 400;
  const source = byId("tree-data");
  let reveal = () => {};
  if (source) {
    const { columns, parts, rows } = JSON.parse(source.textContent);
    const [PARENT, LABEL, NAME, FILL, CELLS, COPY] = [0, 1, 2, 3, 4, 5];
    const grid = byId("tree"), search = byId("search"), flat = byId("flat"), found = byId("found");
    const expand = byId("expand"), detail = byId("detail");
    const children = rows.map(() => []), tops = [], depth = [];
    rows.forEach((row, n) => {
      (row[PARENT] < 0 ? tops : children[row[PARENT]]).push(n);
      depth.push(row[PARENT] < 0 ? 0 : depth[row[PARENT]] + 1);
    });
    const haystack = rows.map((row) => (row[NAME] + " " + row[CELLS].map((c) => c[1])[0]).toLowerCase());
    // A small tree is open; of a large one the first two levels are.
    const open = new Set(rows.keys());
    if (rows.length > 60) for (const n of rows.keys()) if (depth[n] > 0) open.delete(n);
    let order = null, down = true, chosen = 0, shown = [], printing = false;

    const compare = (a, b) => {
      const key = (row) => (order >= 0 ? row[CELLS][order][0] : row[flat.checked ? NAME : LABEL]);
      const x = key(rows[a]), y = key(rows[b]);
      if (x === y) return a - b;
      if (x === null) return 1;               // what is unknown comes last, in either direction
      if (y === null) return -1;
      const less = typeof x === "string" || typeof y === "string" ? String(x) < String(y) : x < y;
      return less === down ? 1 : -1;
    };
    const sorted = (list) => (order === null ? list : [...list].sort(compare));

    const update = () => {
      const words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
      const hits = words.length ? rows.map((_, n) => words.every((w) => haystack[n].includes(w))) : null;
      let count = rows.length;
      shown = [];
      if (flat.checked) {
        shown = sorted([...rows.keys()].filter((n) => !hits || hits[n]));
        count = shown.length;
      } else {
        const wanted = hits && new Set();
        if (hits) {
          count = 0;
          hits.forEach((hit, n) => {
            if (!hit) return;
            count += 1;
            for (let up = n; up >= 0 && !wanted.has(up); up = rows[up][PARENT]) wanted.add(up);
          });
        }
        const walk = (list) => {
          for (const n of sorted(list)) {
            if (wanted && !wanted.has(n)) continue;
            shown.push(n);
            if (wanted || open.has(n)) walk(children[n]);
          }
        };
        walk(tops);
      }
      found.textContent = hits ? `${count.toLocaleString("en")} of ${rows.length.toLocaleString("en")} paths`
        : `${rows.length.toLocaleString("en")} ${rows.length === 1 ? "path" : "paths"}`;
      if (!shown.includes(chosen)) chosen = shown.length ? shown[0] : -1;
      space.style.height = `${shown.length * ROW}px`;
      expand.textContent = open.size >= rows.length ? "Collapse all" : "Expand all";
      draw();
      tell();
    };

    const template = ["minmax(13rem, 1fr)", "7rem", ...columns.map((c) => `${c[2]}ch`)].join(" ");
    const head = make("div", "head");
    head.setAttribute("role", "row");
    head.style.gridTemplateColumns = template;
    const buttons = [];
    const heading = (title, key, about, align) => {
      const cell = make("span", align === "right" ? "right" : "");
      cell.setAttribute("role", "columnheader");
      const button = make("button", "", title);
      button.type = "button";
      if (about) button.title = about;
      button.addEventListener("click", () => {
        if (order === key) down = !down; else { order = key; down = key >= 0 && columns[key][1] === "right"; }
        buttons.forEach(([other, place, plain]) => {
          const mine = place === order;
          other.firstChild.textContent = plain + (mine ? (down ? " ↓" : " ↑") : "");
          if (mine) other.setAttribute("aria-sort", down ? "descending" : "ascending");
          else other.removeAttribute("aria-sort");
        });
        update();
      });
      cell.append(button);
      buttons.push([cell, key, title]);
      head.append(cell);
    };
    heading("Path", -1, "Sort by path");
    const fillHead = make("span", "still", "Fill");
    fillHead.setAttribute("role", "columnheader");
    head.append(fillHead);
    columns.forEach((column, n) => heading(column[0], n, column[3], column[1]));
    const space = make("div", "space");
    space.style.position = "relative";
    space.setAttribute("role", "rowgroup");
    grid.append(head, space);

    const highlighted = (text, node) => {
      const word = search.value.trim().toLowerCase().split(/\s+/)[0];
      const at = word ? text.toLowerCase().indexOf(word) : -1;
      if (at < 0) { node.textContent = text; return; }
      node.append(text.slice(0, at), make("mark", "", text.slice(at, at + word.length)), text.slice(at + word.length));
    };

    const line = (n, place) => {
      const row = rows[n], node = make("div", "row");
      node.id = `row-${n}`;
      node.dataset.row = n;
      node.style.gridTemplateColumns = template;
      node.style.top = `${place * ROW}px`;
      node.setAttribute("role", "row");
      node.setAttribute("aria-level", flat.checked ? 1 : depth[n] + 1);
      node.setAttribute("aria-rowindex", place + 1);
      node.setAttribute("aria-selected", String(n === chosen));
      const branch = children[n].length > 0 && !flat.checked;
      if (branch) node.setAttribute("aria-expanded", String(open.has(n) || search.value.trim() !== ""));
      const name = make("span", "name");
      name.setAttribute("role", "rowheader");
      name.title = row[NAME];
      if (!flat.checked) {
        name.style.paddingLeft = `${Math.min(depth[n], 12) * 16}px`;
        name.append(make("span", "twist", branch ? (open.has(n) || search.value.trim() ? "▾" : "▸") : ""));
      }
      const label = make("span", "label");
      highlighted(flat.checked ? row[NAME] : row[LABEL], label);
      name.append(label);
      const bar = make("span", "fill");
      bar.setAttribute("role", "gridcell");
      bar.title = parts.map(([, meaning], p) => `${meaning} ${(100 * row[FILL][p]).toFixed(1)}%`).join(", ");
      bar.setAttribute("aria-label", bar.title);
      row[FILL].forEach((share, p) => {
        const piece = make("span", parts[p][0]);
        piece.style.width = `${100 * share}%`;
        bar.append(piece);
      });
      node.append(name, bar);
      row[CELLS].forEach(([, text], c) => {
        const cell = make("span", columns[c][1] === "right" ? "right" : "", text);
        cell.setAttribute("role", "gridcell");
        if (text.length > 12) cell.title = text;
        node.append(cell);
      });
      return node;
    };

    const draw = () => {
      const first = printing ? 0 : Math.max(0, Math.floor(grid.scrollTop / ROW) - AHEAD);
      const count = printing ? PRINTED : Math.ceil(grid.clientHeight / ROW) + 2 * AHEAD;
      const pieces = shown.slice(first, first + count).map((n, at) => line(n, first + at));
      if (printing && shown.length > PRINTED) pieces.push(make("p", "nothing", `${shown.length - PRINTED} more`));
      space.replaceChildren(...pieces);
      grid.setAttribute("aria-rowcount", shown.length);
      if (chosen >= 0) grid.setAttribute("aria-activedescendant", `row-${chosen}`);
      else grid.removeAttribute("aria-activedescendant");
    };

    const tell = () => {
      detail.replaceChildren();
      if (chosen < 0) return;
      const row = rows[chosen];
      if (row[COPY]) {
        const holder = make("span", "command"), button = make("button", "", "Copy");
        holder.append(make("code", "", row[COPY]));
        button.type = "button";
        button.addEventListener("click", () => copy(row[COPY], button));
        holder.append(button);
        detail.append(holder);
      } else detail.append(make("code", "", row[NAME]));
      const fact = (title, text) => {
        const one = make("span");
        one.append(make("b", "", title), text);
        detail.append(one);
      };
      parts.forEach(([, meaning], p) => fact(meaning, `${(100 * row[FILL][p]).toFixed(1)}%`));
      columns.forEach((column, c) => { if (row[CELLS][c][1]) fact(column[0].toLowerCase(), row[CELLS][c][1]); });
    };

    const choose = (n) => {
      chosen = n;
      const place = shown.indexOf(n), top = place * ROW, room = grid.clientHeight - head.offsetHeight;
      if (top < grid.scrollTop) grid.scrollTop = top;
      else if (top + ROW > grid.scrollTop + room) grid.scrollTop = top + ROW - room;
      draw();
      tell();
    };
    const turn = (n, on) => {
      if (on) open.add(n); else open.delete(n);
      update();
    };

    grid.addEventListener("scroll", draw, { passive: true });
    grid.addEventListener("click", (event) => {
      const node = event.target.closest(".row");
      if (!node) return;
      const n = Number(node.dataset.row);
      choose(n);
      if (event.target.classList.contains("twist") && children[n].length) turn(n, !open.has(n));
    });
    grid.addEventListener("dblclick", (event) => {
      const node = event.target.closest(".row");
      if (node && children[Number(node.dataset.row)].length) turn(Number(node.dataset.row), !open.has(Number(node.dataset.row)));
    });
    grid.addEventListener("keydown", (event) => {
      if (event.target !== grid || !shown.length || event.ctrlKey || event.metaKey || event.altKey) return;
      const at = shown.indexOf(chosen), page = Math.max(1, Math.floor(grid.clientHeight / ROW) - 2);
      const go = (place) => choose(shown[Math.min(shown.length - 1, Math.max(0, place))]);
      const moves = {
        ArrowDown: () => go(at + 1), ArrowUp: () => go(at - 1), Home: () => go(0), End: () => go(shown.length - 1),
        PageDown: () => go(at + page), PageUp: () => go(at - page),
        ArrowRight: () => (children[chosen].length && !open.has(chosen) ? turn(chosen, true) : go(at + 1)),
        ArrowLeft: () => {
          if (children[chosen].length && open.has(chosen)) turn(chosen, false);
          else if (rows[chosen][PARENT] >= 0) choose(rows[chosen][PARENT]);
        },
        Enter: () => { if (children[chosen].length) turn(chosen, !open.has(chosen)); },
      };
      if (moves[event.key]) { event.preventDefault(); moves[event.key](); }
    });
    search.addEventListener("input", () => { grid.scrollTop = 0; update(); });
    search.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { search.value = ""; update(); }
      if (event.key === "ArrowDown" || event.key === "Enter") { event.preventDefault(); grid.focus(); }
    });
    flat.addEventListener("change", update);
    expand.addEventListener("click", () => {
      if (open.size >= rows.length) open.clear(); else rows.forEach((_, n) => open.add(n));
      update();
    });
    document.addEventListener("keydown", (event) => {
      const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
      if (event.key === "/" && !typing) { event.preventDefault(); search.focus(); }
    });
    addEventListener("beforeprint", () => { printing = true; draw(); });
    addEventListener("afterprint", () => { printing = false; draw(); });
    addEventListener("resize", draw);
    reveal = (n) => {
      search.value = "";
      for (let up = rows[n][PARENT]; up >= 0; up = rows[up][PARENT]) open.add(up);
      update();
      choose(n);
      grid.scrollIntoView({ block: "nearest" });
    };
    update();
  }

  // ── The treemap: one stop of the tab key, arrow keys go from cell to cell ────────────────────────────
  for (const map of document.querySelectorAll(".treemap")) {
    const cells = [...map.querySelectorAll(".cell")];
    if (!cells.length) continue;
    let current = 0;
    cells[0].tabIndex = 0;
    const move = (to) => {
      cells[current].tabIndex = -1;
      current = (to + cells.length) % cells.length;
      cells[current].tabIndex = 0;
      cells[current].focus();
    };
    const pick = (cell) => { if (cell.dataset.row !== undefined) reveal(Number(cell.dataset.row)); };
    cells.forEach((cell, n) => cell.addEventListener("click", () => { move(n); pick(cell); }));
    map.addEventListener("keydown", (event) => {
      const moves = {
        ArrowRight: () => move(current + 1), ArrowDown: () => move(current + 1), ArrowLeft: () => move(current - 1),
        ArrowUp: () => move(current - 1), Home: () => move(0), End: () => move(cells.length - 1),
        Enter: () => { pick(cells[current]); if (byId("tree")) byId("tree").focus(); }, " ": () => pick(cells[current]),
      };
      if (moves[event.key]) { event.preventDefault(); moves[event.key](); }
    });
  }
})();
