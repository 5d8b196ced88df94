// SPDX-License-Identifier: Apache-2.0
// The program before and after fusion: a row for each layer, which unfolds into two drawings side by
// side. Equal layers that follow each other share a row.

const boxSize = { width: 138, height: 42 };
const pillHeight = 22;
/** Drawings shrink to what there is room for, but no further than this; then they scroll. */
const leastScale = 0.75;

/** Groups of both programs in one order; what only the second has comes after what it follows. */
function pairGroups(before, after) {
  const rows = before.groups.map((group, index) => ({ key: group.key, before: index, after: null }));
  let place = 0;
  after.groups.forEach((group, index) => {
    const found = rows.findIndex((row) => row.key === group.key);
    if (found >= 0) {
      rows[found].after = index;
      place = found + 1;
    } else {
      rows.splice(place++, 0, { key: group.key, before: null, after: index });
    }
  });
  return rows;
}

/** Rows that follow each other and show equal layers, as one. */
function stackRows(rows, before, after) {
  const equal = (entry, a, b) =>
    a === null || b === null ? a === b : entry.groups[a].equal_to === entry.groups[b].equal_to;
  const isLayer = (row) =>
    row.before !== null ? before.groups[row.before].layer : after.groups[row.after].layer;
  const stem = (row) => row.key.replace(/\d+$/, '');
  const stacks = [];
  for (const row of rows) {
    const last = stacks.length ? stacks[stacks.length - 1][0] : null;
    if (last && isLayer(row) && isLayer(last) && stem(row) === stem(last) &&
        equal(before, row.before, last.before) && equal(after, row.after, last.after)) {
      stacks[stacks.length - 1].push(row);
    } else {
      stacks.push([row]);
    }
  }
  return stacks;
}

/** A name as it is shown inside a layer: without what the layer's title says already. */
function shortName(node, group) {
  const name = node.name || '';
  return group.layer && name.startsWith(group.key + '.') ? name.slice(group.key.length + 1) : name;
}

/** Cut to what fits into a box, at its beginning: the end of a name says more. */
const cutText = (text, most) => (text.length > most ? '\u2026' + text.slice(text.length - most + 1) : text);

/** Nodes and edges of the drawing of a group: its operations, what they read from outside and who
 *  outside reads them. */
function drawingOf(entry, group) {
  const groupOf = new Map();
  entry.groups.forEach((each) => each.nodes.forEach((node) => groupOf.set(node, each)));
  const inside = new Set(group.nodes);
  const drawn = [];
  const edges = [];
  const numbers = new Map();
  const add = (item) => drawn.push(item) - 1;
  const pill = (text, title) =>
    ({ text, title, width: Math.min(170, 26 + 6.4 * text.length), height: pillHeight, pill: true });
  for (const number of group.nodes) {
    for (const input of entry.nodes[number].inputs) {
      if (!inside.has(input) && !numbers.has(input)) {
        const source = entry.nodes[input];
        const where = groupOf.has(input) ? groupOf.get(input).title : 'input';
        const text = groupOf.has(input) ? where : source.name || 'input';
        numbers.set(input, add(pill(cutText(text, 22), `${source.op} ${source.name || ''} of ${where}`)));
      }
    }
  }
  for (const number of group.nodes) {
    const node = entry.nodes[number];
    numbers.set(number, add({ number, node, ...boxSize }));
    new Set(node.inputs).forEach((input) => {
      edges.push({ from: numbers.get(input), to: numbers.get(number) });
    });
  }
  for (const number of group.nodes) {
    const readers = new Set();
    entry.groups.forEach((other) => {
      if (other !== group && other.nodes.some((node) => entry.nodes[node].inputs.includes(number))) {
        readers.add(other.title);
      }
    });
    if (entry.results.includes(number)) {
      readers.add('result');
    }
    if (readers.size > 0) {
      const names = [...readers];
      const text = names.length === 1 ? cutText(names[0], 22) : `${names.length} readers`;
      edges.push({ from: numbers.get(number), to: add(pill(text, 'read by ' + names.join(', '))) });
    }
  }
  return { drawn, edges };
}

function edgePath(points, drawn, edge, slot) {
  const from = drawn[edge.from];
  const to = drawn[edge.to];
  const stops = points.map((point) => ({ ...point }));
  stops[0].y += from.height / 2;
  const end = stops[stops.length - 1];
  end.y -= to.height / 2;
  end.x += (slot - 0.5) * to.width * 0.6;
  let path = `M${stops[0].x} ${stops[0].y}`;
  for (let i = 1; i < stops.length; ++i) {
    const middle = (stops[i - 1].y + stops[i].y) / 2;
    path += `C${stops[i - 1].x} ${middle} ${stops[i].x} ${middle} ${stops[i].x} ${stops[i].y}`;
  }
  return path;
}

/** Where on the upper side of its reader an edge ends: in the order of where they come from. */
function slotsOf(edges) {
  const slots = new Map();
  const byReader = Map.groupBy ? Map.groupBy(edges, (edge) => edge.to) : new Map();
  if (byReader.size === 0) {
    edges.forEach((edge) => byReader.set(edge.to, [...(byReader.get(edge.to) || []), edge]));
  }
  for (const list of byReader.values()) {
    const ordered = [...list].sort((a, b) => a.points[a.points.length - 2].x - b.points[b.points.length - 2].x);
    ordered.forEach((edge, index) => slots.set(edge, (index + 1) / (ordered.length + 1)));
  }
  return slots;
}

function drawBox(item, place, group, select) {
  const { node } = item;
  const x = place.x - item.width / 2;
  const y = place.y - item.height / 2;
  const name = shortName(node, group);
  const box = svgElement('g', { class: 'box ' + familyOf(node.op), tabindex: 0, role: 'button',
                                'aria-label': `${node.op} ${node.name || ''}` },
    svgElement('title', {}, `${node.op} ${node.name || ''}`),
    svgElement('rect', { x, y, width: item.width, height: item.height, rx: 6 }),
    svgElement('rect', { x, y: y + 6, width: 4, height: item.height - 12, rx: 2, class: 'stripe' }),
    svgElement('text', { x: x + 12, y: y + 17, class: 'operation' }, cutText(node.op, 16)),
    svgElement('text', { x: x + 12, y: y + 32, class: 'name' }, cutText(name, 20)));
  const choose = () => select(item, box);
  box.addEventListener('click', choose);
  box.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      choose();
    }
  });
  return box;
}

function drawPill(item, place) {
  return svgElement('g', { class: 'pill' }, svgElement('title', {}, item.title),
    svgElement('rect', { x: place.x - item.width / 2, y: place.y - item.height / 2,
                         width: item.width, height: item.height, rx: item.height / 2 }),
    svgElement('text', { x: place.x, y: place.y + 4, 'text-anchor': 'middle' }, item.text));
}

/** What a box does not have room for. */
function describeNode(item) {
  const { node } = item;
  const lines = [
    ['operation', node.op], ['checkpoint', node.name], ['gives', node.type],
    ['attributes', node.detail], ['parameters', (node.parameters || []).join(', ')],
    ['weights', node.weight_bytes ? `${inBytes(node.weight_bytes)} (${exact.format(node.weight_bytes)} bytes)` : ''],
    ['FLOPs per token', node.flops_per_token ? exact.format(node.flops_per_token) : ''],
  ];
  return element('dl', { class: 'details' }, lines.filter(([, value]) => value)
    .flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]));
}

function drawGroup(entry, group, details) {
  const { drawn, edges } = drawingOf(entry, group);
  const layout = layoutGraph(drawn, edges);
  const margin = 4;
  const width = Math.ceil(layout.width) + 2 * margin;
  const height = Math.ceil(layout.height) + 2 * margin;
  const svg = svgElement('svg', { viewBox: `${-margin} ${-margin} ${width} ${height}`, width, height,
                                  role: 'group', 'aria-label': `operations of ${group.title}`,
                                  style: `min-width:${Math.round(width * leastScale)}px` });
  const slots = slotsOf(edges);
  for (const edge of edges) {
    svg.append(svgElement('path', { class: 'edge', d: edgePath(edge.points, drawn, edge, slots.get(edge)) }));
  }
  const select = (item, box) => {
    details.parentElement.querySelectorAll('.box.chosen').forEach((each) => each.classList.remove('chosen'));
    box.classList.add('chosen');
    details.replaceChildren(describeNode(item));
  };
  drawn.forEach((item, index) => {
    svg.append(item.pill ? drawPill(item, layout.places[index])
                         : drawBox(item, layout.places[index], group, select));
  });
  return svg;
}

const phaseTitles = { model: 'Before fusion', fused: 'After fusion' };

/** The two drawings of a row; an absent one says so. */
function unfoldRow(row, programs) {
  const details = element('div', { class: 'chosen-node', 'aria-live': 'polite' },
    element('p', { class: 'muted' }, 'Choose an operation to see what it is.'));
  const panels = programs.map(({ phase, entry }) => {
    const index = row[phase];
    const group = index === null || index === undefined ? null : entry.groups[index];
    return element('figure', { class: 'panel' },
      element('figcaption', {}, phaseTitles[phase] || phase, ' ',
        element('span', { class: 'muted' }, group ? plural(group.nodes.length, 'operation') : '')),
      group ? element('div', { class: 'drawing', tabindex: 0, role: 'region',
                               'aria-label': `${phaseTitles[phase] || phase}: ${group.title}` },
                      drawGroup(entry, group, details))
            : element('p', { class: 'muted' }, 'Nothing is left here.'));
  });
  return element('div', { class: 'unfolded' }, element('div', { class: 'panels' }, panels), details);
}

function rowTitle(stack, programs) {
  const first = stack[0];
  const group = programs.map(({ phase, entry }) => (first[phase] === null ? null : entry.groups[first[phase]]))
    .find((each) => each);
  if (stack.length === 1) {
    return group.title;
  }
  return `${first.key} \u2026 ${stack[stack.length - 1].key.match(/\d+$/)[0]}`;
}

/** One fold: a layer, or a stack of equal ones with a choice of which to draw. */
function graphRow(stack, programs, number) {
  const counts = programs.map(({ phase, entry }) =>
    (stack[0][phase] === null ? 0 : entry.groups[stack[0][phase]].nodes.length));
  const fold = element('details', { class: 'fold' },
    element('summary', {},
      element('span', { class: 'fold-title' }, rowTitle(stack, programs)),
      stack.length > 1 ? element('span', { class: 'badge' }, `${stack.length} equal layers`) : null,
      element('span', { class: 'fold-count' }, counts.join(' \u2192 ') + ' operations')));
  const body = element('div', { class: 'fold-body' });
  const show = (index) => {
    body.replaceChildren(unfoldRow(stack[index], programs));
    body.querySelectorAll('.drawing').forEach((drawing) => {
      drawing.scrollLeft = (drawing.scrollWidth - drawing.clientWidth) / 2;
    });
  };
  fold.addEventListener('toggle', () => {
    // Drawn when first asked for: a model has hundreds of operations.
    if (fold.open && !fold.dataset.drawn) {
      fold.dataset.drawn = 'yes';
      if (stack.length > 1) {
        fold.append(choice('Layer', `layer-${number}`,
          stack.map((row, index) => [String(index), row.key.match(/\d+$/)[0]]), '0',
          (value) => show(Number(value))));
      }
      fold.append(body);
      show(0);
    }
  });
  return fold;
}

let rowNumber = 0;

function graphOfEntry(data, name) {
  const empty = { groups: [], nodes: [], results: [] };
  const find = (phase) => (data.programs[phase] || []).find((entry) => entry.name === name);
  const before = find('model') || empty;
  const after = find('fused') || empty;
  const programs = [{ phase: 'model', entry: before }, { phase: 'fused', entry: after }]
    .filter(({ entry }) => entry !== empty);
  const rows = pairGroups(before, after).map((row) => ({ ...row, model: row.before, fused: row.after }));
  const total = programs.map(({ entry }) => entry.groups.reduce((sum, group) => sum + group.nodes.length, 0));
  return element('div', {},
    element('p', { class: 'muted' },
      `${total.map((count) => exact.format(count)).join(' operations before, ')} ` +
      (total.length > 1 ? 'after fusion.' : 'operations.')),
    stackRows(rows, before, after).map((stack) => graphRow(stack, programs, rowNumber++)));
}

function showGraph(section, data) {
  const names = [...new Set([...(data.programs.model || []), ...(data.programs.fused || [])]
    .map((entry) => entry.name))];
  if (names.length === 0) {
    return false;
  }
  const body = element('div', {});
  const show = (name) => body.replaceChildren(graphOfEntry(data, name));
  const foldAll = (open) => body.querySelectorAll('details.fold').forEach((fold) => { fold.open = open; });
  section.append(
    element('h2', {}, 'Program'),
    element('p', { class: 'lead' },
      'Each row is a layer, as the model says it and as it runs after fusion. Unfold one to see its ' +
      'operations under their names in the checkpoint.'),
    element('div', { class: 'controls' },
      names.length > 1 ? choice('Entry', 'graph-entry', names.map((name) => [name, name]), names[0], show) : null,
      element('div', { class: 'buttons' },
        element('button', { type: 'button', id: 'unfold-all', onclick: () => foldAll(true) }, 'Unfold all'),
        element('button', { type: 'button', id: 'fold-all', onclick: () => foldAll(false) }, 'Fold all'))),
    body);
  show(names[0]);
  return true;
}
