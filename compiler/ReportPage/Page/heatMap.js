// SPDX-License-Identifier: Apache-2.0
// How far the attention of any two layers is apart: the pictures that `heddle analyze` draws.

function showAttention(section, data) {
  const { analysis } = data;
  if (!analysis) {
    return false;
  }
  const pictures = analysis.heat_maps.map((svg) => {
    // Drawn by the compiler, every name in it escaped.
    const figure = element('figure', { class: 'heat-figure' });
    figure.innerHTML = svg;
    return figure;
  });
  section.append(
    element('h2', {}, 'Attention of layers compared'),
    element('p', { class: 'lead' },
      `Jensen-Shannon divergence (base 2) of the attention of each two layers, measured on ` +
      `${plural(analysis.sentences, 'sentence')} with ${plural(analysis.positions, 'position')}: 0 is ` +
      `the same distribution.` +
      (analysis.theta === undefined ? '' : ` Frames are blocks of layers to share, at theta ${analysis.theta}.`)),
    element('div', { class: 'heat-maps' }, pictures));
  return true;
}
