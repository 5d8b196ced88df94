// SPDX-License-Identifier: Apache-2.0
// Where FLOPs, weights and caches are: bars by layer and by kind of kernel. All numbers are
// sums over the dispatches of the compiled program.

/** What can be added up, of which rows, and how it is written. */
const metrics = [
  { key: 'flops_per_token', title: 'FLOPs', unit: 'per token', of: 'dispatches', format: inCounts },
  { key: 'flops_per_token_and_key', title: 'FLOPs on keys', unit: 'per token and key',
    of: 'dispatches', format: inCounts },
  { key: 'weight_bytes', title: 'Weights', unit: 'stored', of: 'dispatches', format: inBytes },
  { key: 'bytes_per_token', title: 'Cache', unit: 'per token', of: 'caches', format: inBytes },
  { key: 'bytes_per_sequence', title: 'State', unit: 'per sequence', of: 'caches', format: inBytes },
];

/** Rows of an entry that count: a cache counts where it is written. */
function rowsOf(entry, metric) {
  return metric.of === 'caches' ? entry.caches.filter((cache) => cache.written) : entry.dispatches;
}

const totalOf = (entry, metric) =>
  rowsOf(entry, metric).reduce((sum, row) => sum + row[metric.key], 0);

/** Of "shared.weight": "shared"; of a name without parts itself. */
const parentOf = (name) => (name.includes('.') ? name.slice(0, name.lastIndexOf('.')) : name);

/** What a row belongs to: its layer, or where it has none the name it is under. */
const layerOf = (row) => row.layer || parentOf(row.name) || 'other';
const kindOf = (row) => row.kind || (row.bytes_per_sequence > 0 ? 'state' : /key$/.test(row.name) ? 'keys' :
  /value$/.test(row.name) ? 'values' : 'cache');
/** The color of a kind. */
const kindFamily = (kind) => familyOf(['keys', 'values', 'state', 'cache'].includes(kind) ? 'append' : kind);

/** Sums by `keyOf`, each with its parts by kind; in the order of the program. */
function sumsOf(rows, metric, keyOf) {
  const sums = new Map();
  for (const row of rows) {
    if (row[metric.key] > 0) {
      const key = keyOf(row);
      const sum = sums.get(key) || { key, value: 0, parts: new Map() };
      sum.value += row[metric.key];
      sum.parts.set(kindOf(row), (sum.parts.get(kindOf(row)) || 0) + row[metric.key]);
      sums.set(key, sum);
    }
  }
  return [...sums.values()];
}

function barRow(sum, largest, total, metric) {
  const parts = [...sum.parts].sort((a, b) => b[1] - a[1]);
  const bar = element('span', { class: 'bar' }, parts.map(([kind, value]) =>
    element('span', { class: 'bar-part ' + kindFamily(kind),
                      style: `width:${(value / largest) * 100}%`,
                      title: `${kind}: ${exact.format(value)}` })));
  return element('tr', {},
    element('th', { scope: 'row' }, sum.key),
    element('td', { class: 'bar-cell' }, bar),
    element('td', { class: 'value' }, numberText(sum.value, metric.format)),
    element('td', { class: 'share' }, inPercent(sum.value, total)));
}

/** Runs of equal neighbours ("encoder.layers.0", "encoder.layers.1", ...) as one line. */
function mergeEqual(sums) {
  const same = (a, b) => a.value === b.value && a.stem !== null && a.stem === b.stem;
  const merged = [];
  for (const sum of sums) {
    const number = sum.key.match(/^(.*?)(\d+)$/);
    const item = { ...sum, stem: number ? number[1] : null, last: number ? number[2] : null, count: 1 };
    const previous = merged[merged.length - 1];
    if (previous && same(previous, item)) {
      previous.last = item.last;
      previous.count += 1;
    } else {
      merged.push(item);
    }
  }
  return merged.map((item) => (item.count === 1 ? item : {
    ...item,
    key: `${item.key} \u2026 ${item.last} (${item.count} \u00d7 ${exact.format(item.value)})`,
    value: item.value * item.count,
    parts: new Map([...item.parts].map(([kind, value]) => [kind, value * item.count])),
  }));
}

function costTable(data, metric, by) {
  const blocks = data.costs.filter((entry) => totalOf(entry, metric) > 0).map((entry) => {
    const total = totalOf(entry, metric);
    let sums = sumsOf(rowsOf(entry, metric), metric, by === 'layer' ? layerOf : kindOf);
    if (by === 'stack') {
      sums = mergeEqual(sumsOf(rowsOf(entry, metric), metric, layerOf));
    } else if (by === 'kind') {
      sums.sort((a, b) => b.value - a.value);
    }
    const largest = Math.max(...sums.map((sum) => sum.value));
    return element('table', { class: 'bars' },
      element('caption', {}, entry.name, ' ',
        element('span', { class: 'muted' }, numberText(total, metric.format), ' ' + metric.unit)),
      element('tbody', {}, sums.map((sum) => barRow(sum, largest, total, metric))));
  });
  return blocks.length ? blocks : [element('p', { class: 'muted' }, 'None: this program has no such cost.')];
}

/** The colors in use. */
function legend(data, metric) {
  const kinds = new Set(data.costs.flatMap((entry) => rowsOf(entry, metric))
    .filter((row) => row[metric.key] > 0).map(kindOf));
  return element('ul', { class: 'legend' }, [...kinds].map((kind) => element('li', {},
    element('span', { class: 'swatch ' + kindFamily(kind) }),
    kind)));
}

function showCosts(section, data) {
  if (data.costs.length === 0) {
    return false;
  }
  const state = { metric: metrics[0].key, by: 'stack' };
  const body = element('div', { class: 'cost-tables' });
  const show = () => {
    const metric = metrics.find((each) => each.key === state.metric);
    body.replaceChildren(...costTable(data, metric, state.by), legend(data, metric));
  };
  section.append(
    element('h2', {}, 'Costs'),
    element('p', { class: 'lead' },
      'Counted on the dispatches of the compiled program. FLOPs are those of products, a multiplication ' +
      'and its addition being two; weights are as stored, each once.'),
    element('div', { class: 'controls' },
      choice('Of', 'cost-metric', metrics.map((metric) => [metric.key, metric.title]), state.metric,
        (value) => { state.metric = value; show(); }),
      choice('By', 'cost-by', [['stack', 'layers'], ['layer', 'each layer'], ['kind', 'kind']], state.by,
        (value) => { state.by = value; show(); })),
    body);
  show();
  return true;
}
