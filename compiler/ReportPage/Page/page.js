// SPDX-License-Identifier: Apache-2.0
// The page itself: its head, the summary, the entries, and the parts in their places.

function showHead(data) {
  document.title = `${data.model} \u2013 Heddle report`;
  document.getElementById('model').textContent = data.model;
  document.getElementById('facts').append(...data.facts.map(([name, value]) =>
    element('div', {}, element('dt', {}, name), element('dd', {}, value))));
}

const tile = (title, value, note) => element('div', { class: 'tile' },
  element('p', { class: 'tile-title' }, title), element('p', { class: 'tile-value' }, value),
  element('p', { class: 'tile-note muted' }, note));

function showSummary(section, data) {
  const taken = data.decisions.filter((decision) => decision.taken);
  const tiles = [tile('Decisions', exact.format(data.decisions.length),
    `${exact.format(taken.length)} taken, ${exact.format(data.decisions.length - taken.length)} declined`)];
  const count = (phase) => (data.programs[phase] || [])
    .flatMap((entry) => entry.groups).reduce((sum, group) => sum + group.nodes.length, 0);
  if (data.programs.model && data.programs.fused) {
    tiles.push(tile('Operations of the program', `${exact.format(count('model'))} \u2192 ${exact.format(count('fused'))}`,
      'before and after fusion'));
  }
  for (const metric of data.costs.length ? metrics : []) {
    const totals = data.costs.map((entry) => [entry.name, totalOf(entry, metric)]).filter(([, value]) => value > 0);
    if (totals.length > 0) {
      // What is stored is stored once; what is computed belongs to an entry.
      const sum = totals.reduce((all, [, value]) => all + value, 0);
      const shared = metric.key === 'weight_bytes' || totals.length === 1;
      tiles.push(tile(`${metric.title} ${metric.unit}`,
        shared ? numberText(sum, metric.format)
               : totals.map(([, value], index) => [index ? ' / ' : '', numberText(value, metric.format)]),
        shared ? '' : totals.map(([name]) => name).join(' / ')));
    }
  }
  section.append(element('div', { class: 'tiles' }, tiles));
}

function portTable(title, ports, detail) {
  return ports.length === 0 ? null : element('table', { class: 'ports' }, element('caption', {}, title),
    element('tbody', {}, ports.map((port) => element('tr', {},
      element('th', { scope: 'row' }, port.name), element('td', {}, detail(port))))));
}

function memoryText(entry) {
  const parts = [[entry.arena_bytes_per_token, 'per token'], [entry.arena_bytes_per_sequence, 'per sequence'],
                 [entry.arena_bytes_per_token_and_longest, 'per token and position of the longest sequence']];
  return parts.filter(([value]) => value > 0).map(([value, of]) => `${inBytes(value)} ${of}`).join(', ') || 'none';
}

function showEntries(section, data) {
  if (data.costs.length === 0) {
    return false;
  }
  section.append(element('h2', {}, 'Entries'),
    element('div', { class: 'entries' }, data.costs.map((entry) => element('article', { class: 'entry' },
      element('h3', {}, entry.name),
      element('p', { class: 'muted' }, `${plural(entry.dispatches.length, 'dispatch', 'dispatches')}; ` +
        (entry.max_length > 0 ? `at most ${exact.format(entry.max_length)} tokens a sequence` : 'sequences of any length')),
      portTable('Inputs', entry.inputs, (port) => port.type),
      portTable('Outputs', entry.outputs, (port) => port.type),
      entry.observed > 0 ? element('p', { class: 'muted' },
        `${plural(entry.observed, 'output')} with the probabilities of attentions, when asked for`) : null,
      portTable('Caches', entry.caches, (cache) =>
        cache.bytes_per_sequence > 0 ? `${inBytes(cache.bytes_per_sequence)} per sequence` :
        `${inBytes(cache.bytes_per_token)} per token${cache.written ? ', appended to' : ''}`),
      element('p', {}, 'Working memory: ', memoryText(entry))))));
  return true;
}

/** A part that has nothing to show is not there. */
function showPage() {
  const data = JSON.parse(document.getElementById('data').textContent);
  showHead(data);
  showSummary(document.getElementById('summary'), data);
  const parts = { gain: showGain, costs: showCosts, graph: showGraph, decisions: showDecisions, rounding: showRounding,
                  attention: showAttention, entries: showEntries };
  for (const [id, show] of Object.entries(parts)) {
    const section = document.getElementById(id);
    if (show(section, data)) {
      document.getElementById('sections').append(
        element('li', {}, element('a', { href: '#' + id }, section.dataset.title)));
    } else {
      section.remove();
    }
  }
}

showPage();
