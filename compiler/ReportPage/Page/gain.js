// SPDX-License-Identifier: Apache-2.0
// What each entry does and reads without the passes and with them, and how much faster that can be.

/** What is shown of the totals; what is zero in both programs is not. */
const gainRows = [
  ['flops_per_token', 'FLOPs per token', inCounts],
  ['flops_per_token_and_row', 'FLOPs per token and key', inCounts],
  ['flops_per_token_and_history', 'FLOPs per token and position of history', inCounts],
  ['flops_per_token_and_source', 'FLOPs per token and position of source', inCounts],
  ['weight_bytes', 'Weights stored', inBytes],
  ['cache_bytes_per_token', 'Cache stored per token', inBytes],
  ['cache_bytes_per_source_token', 'Cache stored per position of source', inBytes],
  ['state_bytes_per_sequence', 'State stored per sequence', inBytes],
  ['weight_bytes_read', 'Weights read', inBytes],
  ['lookup_bytes_per_token', 'Rows of tables read per token', inBytes],
  ['cache_bytes_read_per_history', 'Cache read per position of history', inBytes],
  ['cache_bytes_read_per_source', 'Cache read per position of source', inBytes],
  ['state_bytes_read', 'State read', inBytes],
  ['activation_bytes_per_token', 'Activations per token', inBytes],
  ['activation_bytes_per_token_and_row', 'Scores per token and key', inBytes],
  ['activation_bytes_per_token_and_history', 'Scores per token and position of history', inBytes],
  ['activation_bytes_per_token_and_source', 'Scores per token and position of source', inBytes],
];

const sizeText = (size) => ('tokens' in size ? plural(size.tokens, 'token') :
  `${exact.format(size.history)} of history, ${exact.format(size.source)} of source`);

/** "1.16", with all digits at hand; where nothing is left to do there is no number. */
const timesText = (value) => (value === null ? '\u2013' :
  element('span', { class: 'number', title: String(value) }, value.toFixed(2) + '\u00a0\u00d7'));

const columnHeads = (titles) => element('thead', {}, element('tr', {}, element('td', {}),
  titles.map((title) => element('th', { scope: 'col' }, title))));

function totalsTable(entry) {
  return element('table', { class: 'gain-table' },
    columnHeads(['without', 'with']),
    element('tbody', {}, gainRows.filter(([key]) => entry.before[key] > 0 || entry.after[key] > 0)
      .map(([key, title, format]) => element('tr', { 'data-key': key },
        element('th', { scope: 'row' }, title),
        element('td', {}, numberText(entry.before[key], format)),
        element('td', {}, numberText(entry.after[key], format))))));
}

function predictionTable(entry) {
  return element('table', { class: 'gain-table predicted' },
    columnHeads(['arithmetic', 'memory', 'memory, with activations']),
    element('tbody', {}, entry.predicted.map((size) => element('tr', {},
      element('th', { scope: 'row' }, sizeText(size)),
      [size.arithmetic, size.memory, size.memory_with_activations].map((times) =>
        element('td', {}, timesText(times)))))));
}

function showGain(section, data) {
  if (data.gain.length === 0) {
    return false;
  }
  section.append(
    element('h2', {}, 'Predicted gain'),
    element('p', { class: 'lead' },
      'What is computed and read without the optional passes and with them, and how many times as fast ' +
      'that makes it: where arithmetic is the limit, where reading weights and caches is, and where all ' +
      'activations are written to memory and read from it as well. No machine is assumed; a real one lies ' +
      'between these limits, apart from what none of them counts, such as the calls of kernels.'),
    element('div', { class: 'entries' }, data.gain.map((entry) => element('article', { class: 'entry' },
      entry.taken ? [element('h3', {}, entry.where), totalsTable(entry), predictionTable(entry)]
                  : element('p', { class: 'reason' }, 'Not predicted: ' + entry.reason)))));
  return true;
}
