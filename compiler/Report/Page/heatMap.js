// SPDX-License-Identifier: Apache-2.0
// How far the attention of any two layers is apart: Jensen-Shannon divergence to base 2, averaged
// over heads, positions and sentences. Blocks of layers that would share are framed.

const heatCell = 44;
const heatMargin = 30;
const kindTitles = {
  encoder: 'Encoder self-attention',
  decoder: 'Decoder self-attention',
  cross: 'Attention to the source',
};

/** "encoder.layers.3.self_attention": 3. */
const layerNumber = (name, index) => (name.match(/(?:^|\.)(\d+)(?:\.|$)/) || [null, String(index)])[1];

/** Frames of the blocks of a policy, along the diagonal. */
function policyFrames(policy) {
  let start = 0;
  return (policy || []).map((size) => {
    const frame = svgElement('rect', { class: 'frame', x: start * heatCell + 1, y: start * heatCell + 1,
                                       width: size * heatCell - 2, height: size * heatCell - 2, rx: 4 });
    start += size;
    return frame;
  });
}

/** The picture of one kind of attention; colors are those of the page. */
function heatMap(kind) {
  const size = kind.layers.length;
  const largest = Math.max(...kind.divergence.flat(), 1e-9);
  const side = size * heatCell;
  const cells = kind.divergence.flatMap((row, y) => row.map((value, x) => {
    const strength = value / largest;
    return svgElement('g', {},
      svgElement('title', {}, `${kind.layers[y]} and ${kind.layers[x]}: ${value.toFixed(4)}`),
      svgElement('rect', { class: 'heat', x: x * heatCell, y: y * heatCell, width: heatCell, height: heatCell,
                           'fill-opacity': (0.04 + 0.96 * strength).toFixed(3) }),
      svgElement('text', { x: (x + 0.5) * heatCell, y: (y + 0.5) * heatCell + 4, 'text-anchor': 'middle',
                           class: strength > 0.55 ? 'on-strong' : '' }, value.toFixed(2)));
  }));
  const labels = kind.layers.flatMap((name, index) => {
    const text = layerNumber(name, index);
    const middle = (index + 0.5) * heatCell;
    return [svgElement('text', { class: 'axis', x: middle, y: -8, 'text-anchor': 'middle' }, text),
            svgElement('text', { class: 'axis', x: -10, y: middle + 4, 'text-anchor': 'end' }, text)];
  });
  return svgElement('svg', { class: 'heat-map', role: 'img',
                             viewBox: `${-heatMargin} ${-heatMargin} ${side + heatMargin + 4} ${side + heatMargin + 4}`,
                             style: `max-width:${side + heatMargin + 4}px`,
                             'aria-label': `divergence of the attention of ${size} layers` },
    cells, policyFrames(kind.policy), labels);
}

function showAttention(section, data) {
  const { analysis } = data;
  if (!analysis) {
    return false;
  }
  section.append(
    element('h2', {}, 'Attention of layers compared'),
    element('p', { class: 'lead' },
      `Jensen-Shannon divergence (base 2) of the attention of each two layers, measured on ` +
      `${plural(analysis.sentences, 'sentence')} with ${plural(analysis.positions, 'position')}: 0 is ` +
      `the same distribution.` +
      (analysis.theta === undefined ? '' : ` Frames are blocks of layers to share, at theta ${analysis.theta}.`)),
    element('div', { class: 'heat-maps' }, analysis.kinds.map((kind) => element('figure', { class: 'heat-figure' },
      element('figcaption', {}, kindTitles[kind.kind] || kind.kind, ' ',
        element('span', { class: 'muted' }, kind.policy ? 'policy ' + kind.policy.join(', ') : '')),
      heatMap(kind)))));
  return true;
}
