// SPDX-License-Identifier: Apache-2.0
// What all parts of the page use: elements, and numbers as people read them.
'use strict';

/** An element with attributes (`on...` are listeners) and children, which may be texts or null. */
function element(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svgElement(tag, attributes, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) {
      continue;
    }
    if (name.startsWith('on')) {
      made.addEventListener(name.slice(2), value);
    } else {
      made.setAttribute(name, value === true ? '' : value);
    }
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

const exact = new Intl.NumberFormat('en');

/** 12,345,678 as "12.3 M", with steps of a thousand. */
function scaled(value, units, step) {
  let unit = 0;
  while (Math.abs(value) >= step && unit + 1 < units.length) {
    value /= step;
    ++unit;
  }
  const digits = unit === 0 ? 0 : Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0;
  return value.toFixed(digits) + (units[unit] ? '\u00a0' + units[unit] : '');
}

const inBytes = (value) => scaled(value, ['B', 'kB', 'MB', 'GB', 'TB'], 1000);
const inCounts = (value) => scaled(value, ['', 'k', 'M', 'G', 'T'], 1000);
const inPercent = (part, whole) => (whole > 0 ? ((part / whole) * 100).toFixed(1) + '\u00a0%' : '');

/** A number as people read it, with all its digits at hand. */
function numberText(value, format) {
  return element('span', { class: 'number', title: exact.format(value) }, format(value));
}

const plural = (count, one, many) => exact.format(count) + ' ' + (count === 1 ? one : many || one + 's');

/** Buttons of which one is chosen: radio buttons, so that arrow keys work. */
function choice(label, name, options, chosen, change) {
  const group = element('fieldset', { class: 'choice' }, element('legend', {}, label));
  for (const [value, text] of options) {
    const input = element('input', { type: 'radio', name, value, checked: value === chosen,
                                     onchange: () => change(value) });
    group.append(element('label', {}, input, element('span', {}, text)));
  }
  return group;
}

/** The color of a family of kernels or operations: a class of the style sheet. */
const families = {
  contract: 'contract', linear: 'contract', grouped_linear: 'contract',
  attention: 'attention', attention_weights: 'attention', attend: 'attention', softmax: 'attention',
  select: 'attention', mask: 'attention', mask_bias: 'attention', relative_bias: 'attention',
  gather: 'gather', embed: 'gather', positions: 'gather',
  rows: 'rows', layer_norm: 'rows', rms_norm: 'rows', normalize: 'rows', add: 'rows',
  multiply: 'rows', scale: 'rows', activate: 'rows', pool: 'pool', nest: 'nest',
  append: 'append', cached: 'append', prefix_mean: 'append', accumulate: 'append',
};
const familyOf = (operation) => 'family-' + (families[operation] || 'other');
