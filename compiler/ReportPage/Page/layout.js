// SPDX-License-Identifier: Apache-2.0
// Placing a small graph in ranks from top to bottom (Sugiyama, Tagawa, Toda 1981): ranks by longest
// path, order within a rank by the mean place of neighbours, then coordinates that pull neighbours
// together. Long edges pass through points of their own in every rank between.

const layoutSizes = { rankGap: 30, columnGap: 14, pointWidth: 10 };

/** Ranks of nodes whose edges all lead to later nodes: as high as what they read allows, then as low
 *  as what reads them allows where that makes no edge longer in all. */
function ranksOf(count, edges) {
  const rank = new Array(count).fill(0);
  const inputs = Array.from({ length: count }, () => []);
  const readers = Array.from({ length: count }, () => []);
  for (const edge of [...edges].sort((a, b) => a.to - b.to || a.from - b.from)) {
    rank[edge.to] = Math.max(rank[edge.to], rank[edge.from] + 1);
    inputs[edge.to].push(edge.from);
    readers[edge.from].push(edge.to);
  }
  // Numbers are not in the order of edges where something outside is read: the lowest rank first.
  const downwards = [...rank.keys()].sort((a, b) => rank[b] - rank[a]);
  for (const node of downwards) {
    if (readers[node].length > 0 && inputs[node].length <= readers[node].length) {
      rank[node] = Math.min(...readers[node].map((reader) => rank[reader])) - 1;
    }
  }
  const top = Math.min(...rank);
  return rank.map((each) => each - top);
}

/** Items of every rank, with points for long edges; edges of one node share their points. */
function ranksWithPoints(nodes, edges) {
  const rank = ranksOf(nodes.length, edges);
  const rows = Array.from({ length: Math.max(0, ...rank) + 1 }, () => []);
  const items = nodes.map((node, index) => ({ node: index, width: node.width, height: node.height,
                                             rank: rank[index], up: [], down: [] }));
  items.forEach((item) => rows[item.rank].push(item));
  const join = (above, below) => {
    if (!above.down.includes(below)) {
      above.down.push(below);
      below.up.push(above);
    }
  };
  const points = new Map();
  for (const edge of edges) {
    let above = items[edge.from];
    edge.through = [];
    for (let at = rank[edge.from] + 1; at < rank[edge.to]; ++at) {
      const key = edge.from + ' ' + at;
      if (!points.has(key)) {
        const point = { node: -1, width: layoutSizes.pointWidth, height: 0, rank: at, up: [], down: [] };
        points.set(key, point);
        rows[at].push(point);
      }
      join(above, points.get(key));
      above = points.get(key);
      edge.through.push(above);
    }
    join(above, items[edge.to]);
  }
  return { rows, items };
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The middle one, or the mean of the two in the middle: a neighbour far away pulls no more than one
 *  that is near. */
function middle(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

function orderRows(rows) {
  rows.forEach((row) => row.forEach((item, place) => { item.place = place; }));
  for (let sweep = 0; sweep < 8; ++sweep) {
    const towards = sweep % 2 === 0 ? 'up' : 'down';
    const order = sweep % 2 === 0 ? rows : [...rows].reverse();
    for (const row of order) {
      row.forEach((item) => {
        item.wish = item[towards].length ? mean(item[towards].map((next) => next.place)) : item.place;
      });
      row.sort((a, b) => a.wish - b.wish || a.place - b.place);
      row.forEach((item, place) => { item.place = place; });
    }
  }
}

/** Coordinates as near to the wishes as the order of the row and the gaps allow. */
function spread(row) {
  const apart = (a, b) => (a.width + b.width) / 2 + layoutSizes.columnGap;
  const right = [];
  row.forEach((item, i) => {
    right.push(i === 0 ? item.wish : Math.max(item.wish, right[i - 1] + apart(row[i - 1], item)));
  });
  const left = new Array(row.length);
  for (let i = row.length - 1; i >= 0; --i) {
    left[i] = i === row.length - 1 ? row[i].wish
                                   : Math.min(row[i].wish, left[i + 1] - apart(row[i], row[i + 1]));
  }
  // Both keep the gaps, and so does their mean.
  row.forEach((item, i) => { item.x = (left[i] + right[i]) / 2; });
}

function placeRows(rows) {
  for (const row of rows) {
    row.forEach((item) => { item.wish = 0; });
    spread(row);
  }
  for (let sweep = 0; sweep < 24; ++sweep) {
    const towards = sweep % 2 === 0 ? 'up' : 'down';
    for (const row of sweep % 2 === 0 ? rows : [...rows].reverse()) {
      row.forEach((item) => {
        const next = item[towards].length ? item[towards] : item.up.concat(item.down);
        item.wish = next.length ? middle(next.map((other) => other.x)) : item.x;
      });
      spread(row);
    }
  }
}

/**
 * Places nodes `{width, height}`; edges `{from, to}` get `points`. All coordinates are of centers,
 * from the upper left corner of the drawing. Answers `{width, height, places: [{x, y}]}`.
 */
function layoutGraph(nodes, edges) {
  const { rows, items } = ranksWithPoints(nodes, edges);
  orderRows(rows);
  placeRows(rows);
  let y = 0;
  for (const row of rows) {
    const height = Math.max(...row.map((item) => item.height), 0);
    row.forEach((item) => { item.y = y + height / 2; });
    y += height + layoutSizes.rankGap;
  }
  const all = rows.flat();
  const left = Math.min(...all.map((item) => item.x - item.width / 2));
  const right = Math.max(...all.map((item) => item.x + item.width / 2));
  all.forEach((item) => { item.x -= left; });
  for (const edge of edges) {
    edge.points = [items[edge.from], ...edge.through, items[edge.to]].map(({ x, y }) => ({ x, y }));
  }
  return { width: right - left, height: y - layoutSizes.rankGap, places: items };
}
