// SPDX-License-Identifier: Apache-2.0
// Every candidate of every pass: taken or not, why, and what it saves. Filters work on all of them.

const savingTitles = {
  flops_per_token: ['FLOPs per token', inCounts],
  flops_per_token_and_key: ['FLOPs per token and key', inCounts],
  weight_bytes: ['of weights', inBytes],
  activation_bytes_per_token: ['of activations per token', inBytes],
  cache_bytes_per_token: ['of cache per token', inBytes],
};

/** "1.2 MB of weights", for each saving that is not zero. */
function savingItems(savings) {
  return Object.entries(savings).filter(([, value]) => value !== 0).map(([key, value]) => {
    const [title, format] = savingTitles[key] || [key.replaceAll('_', ' '), inCounts];
    return element('li', {}, numberText(value, format), ' ' + title);
  });
}

function decisionItem(decision) {
  const savings = savingItems(decision.savings);
  return element('li', { class: 'decision ' + (decision.taken ? 'taken' : 'declined') },
    element('span', { class: 'verdict' }, decision.taken ? 'taken' : 'declined'),
    element('code', { class: 'where' }, decision.where || 'the program'),
    element('p', { class: 'reason' }, decision.taken ? decision.what : decision.reason),
    savings.length ? element('ul', { class: 'savings', 'aria-label': 'saves' }, savings) : null);
}

/** More decisions of a pass than these are folded away at first. */
const mostUnfolded = 8;

/** The decisions of one pass, with what they save together. */
function passGroup(pass, decisions, open) {
  const taken = decisions.filter((decision) => decision.taken).length;
  return element('details', { class: 'fold pass-group', open },
    element('summary', {},
      element('span', { class: 'fold-title' }, pass),
      element('ul', { class: 'savings' }, savingItems(sumSavings(decisions))),
      element('span', { class: 'fold-count' },
        [[taken, 'taken'], [decisions.length - taken, 'declined']].filter(([count]) => count > 0)
          .map(([count, verdict]) => `${exact.format(count)} ${verdict}`).join(', '))),
    element('ul', { class: 'decisions' }, decisions.map(decisionItem)));
}

function sumSavings(decisions) {
  const sums = {};
  for (const { savings } of decisions) {
    for (const [key, value] of Object.entries(savings)) {
      sums[key] = (sums[key] || 0) + value;
    }
  }
  return sums;
}

function filterDecisions(decisions, { pass, verdict, text }) {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word);
  return decisions.filter((decision) => {
    const all = [decision.pass, decision.where, decision.what, decision.reason].join(' ').toLowerCase();
    return (pass === '' || decision.pass === pass) &&
      (verdict === 'all' || (verdict === 'taken') === decision.taken) &&
      words.every((word) => all.includes(word));
  });
}

function showDecisions(section, data) {
  const state = { pass: '', verdict: 'all', text: '' };
  const list = element('div', { id: 'decision-list' });
  const count = element('p', { class: 'muted', id: 'decision-count', role: 'status' });
  const savings = element('ul', { class: 'savings' });
  const show = () => {
    const shown = filterDecisions(data.decisions, state);
    const taken = shown.filter((decision) => decision.taken).length;
    const groups = new Map();
    shown.forEach((each) => groups.set(each.pass, [...(groups.get(each.pass) || []), each]));
    const asked = state.pass !== '' || state.text !== '' || state.verdict !== 'all';
    list.replaceChildren(...[...groups].map(([pass, decisions]) =>
      passGroup(pass, decisions, asked || decisions.length <= mostUnfolded)));
    count.textContent = `${exact.format(shown.length)} of ${exact.format(data.decisions.length)} shown: ` +
      `${exact.format(taken)} taken, ${exact.format(shown.length - taken)} declined` +
      (taken ? '; what is taken saves' : '');
    savings.replaceChildren(...savingItems(sumSavings(shown)));
  };
  const passes = [...new Set(data.decisions.map((decision) => decision.pass))];
  const select = element('select', { id: 'decision-pass', onchange: () => { state.pass = select.value; show(); } },
    element('option', { value: '' }, 'all passes'),
    passes.map((pass) => element('option', { value: pass }, pass)));
  const search = element('input', { type: 'search', id: 'decision-text', placeholder: 'layer, reason \u2026',
                                    oninput: () => { state.text = search.value; show(); } });
  section.append(
    element('h2', {}, 'Decisions'),
    element('p', { class: 'lead' },
      'Every place where a pass could have changed the program, what it did there, and for what it ' +
      'left alone the first condition that did not hold.'),
    element('div', { class: 'controls' },
      element('label', { class: 'field' }, element('span', {}, 'Pass'), select),
      choice('Verdict', 'decision-verdict', [['all', 'all'], ['taken', 'taken'], ['declined', 'declined']], 'all',
        (value) => { state.verdict = value; show(); }),
      element('label', { class: 'field' }, element('span', {}, 'Search'), search)),
    count, savings, list);
  show();
  return true;
}
