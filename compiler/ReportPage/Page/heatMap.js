// SPDX-License-Identifier: Apache-2.0
// How similar the attention of any two layers is: the pictures that `heddle analyze` draws.

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
      `Similarity of the attention of each two layers (1 - Jensen-Shannon divergence in bits), measured on ` +
      `${plural(analysis.sentences, 'sentence')} with ${plural(analysis.positions, 'position')}: 1 is ` +
      `the same distribution, 0 has nothing in common.` +
      (analysis.theta === undefined ? '' : ` Frames are blocks of layers to share, at theta ${analysis.theta}.`)),
    element('div', { class: 'heat-maps' }, pictures));
  return true;
}
