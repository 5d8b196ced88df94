// SPDX-License-Identifier: Apache-2.0
// What fewer bits change of the weights: a row for every matrix, the largest error first.

/** More rows than these are folded away at first. */
const mostRounded = 12;

function roundingRow(matrix, largest) {
  // JSON has no way to say that a number is none.
  const known = matrix.error !== null;
  const kept = matrix.bytes_in_bf16 - matrix.bytes;
  return element('tr', {},
    element('th', { scope: 'row' }, element('code', { class: 'where' }, matrix.where)),
    element('td', {}, matrix.stored),
    element('td', { class: 'number' }, known ? `${(100 * matrix.error).toPrecision(3)}\u00a0%` : 'no number'),
    element('td', {}, element('meter', { min: 0, max: largest || 1, value: known ? matrix.error : largest,
      'aria-label': `error of ${matrix.where}` })),
    element('td', { class: 'number' }, numberText(matrix.bytes, inBytes)),
    element('td', { class: 'number' }, kept > 0 ? [numberText(kept, inBytes), ' more'] : ''));
}

function roundingTable(rows, largest) {
  return element('table', { class: 'rounding' },
    element('thead', {}, element('tr', {}, ['Weights', 'stored in', 'error', '', 'bytes', 'in bf16']
      .map((title) => element('th', { scope: 'col' }, title)))),
    element('tbody', {}, rows.map((matrix) => roundingRow(matrix, largest))));
}

/** Options to paste: each saves a part of the error for so many bytes. */
function keepList(options) {
  return element('ul', { class: 'keep' }, options.map((each) => element('li', {},
    element('code', {}, each.option),
    ` keeps ${(100 * each.share).toPrecision(2)}\u00a0% of the squared errors out, for `,
    numberText(each.bytes, inBytes), ' more')));
}

function showRounding(section, data) {
  const rows = data.rounding || [];
  if (rows.length === 0) {
    return false;
  }
  const largest = Math.max(...rows.map((matrix) => matrix.error || 0));
  section.append(element('h2', {}, 'Rounding of weights'),
    element('p', { class: 'muted' },
      'The error is that of the stored numbers: the root of their squared differences from f32, over that of their ' +
      'squares. Matrices at the top are the first to keep in more bits; what that costs is in the last column.'),
    ...(data.worth_keeping || []).length > 0 ? [
      element('p', {}, 'Layers whose errors go away for the fewest bytes, if all matrices count alike:'),
      keepList(data.worth_keeping)] : [],
    roundingTable(rows.slice(0, mostRounded), largest),
    rows.length > mostRounded ? element('details', { class: 'fold' },
      element('summary', {}, `${plural(rows.length - mostRounded, 'matrix', 'matrices')} with smaller errors`),
      roundingTable(rows.slice(mostRounded), largest)) : '');
  return true;
}
