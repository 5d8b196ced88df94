#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The report page in a real browser: report_page_test.py HEDDLEC TESTS [FOLDER FOR PICTURES].

Ends with 77, which ctest counts as skipped, where no browser is installed."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

from browser import PROGRAMS, Browser, find_browser

HEDDLEC, TESTS = sys.argv[1:3]
PICTURES = sys.argv[3] if len(sys.argv) > 3 else None
DESKTOP, PHONE = (1280, 900), (390, 844)
TRANSFORMER = os.path.join(TESTS, "oracles", "transformer-post")
WEIGHTED = os.path.join(TESTS, "oracles", "weighted")
AVERAGE = os.path.join(TESTS, "oracles", "san-average")
BERT = os.path.join(TESTS, "oracles", "bert-tiny")

# A program whose names would end the script element, begin another, or be markup.
EVIL = "</script><b>bold</b><script>alert(1)</script>&amp;\u2028<!--"
HOSTILE = """
module {
  transformer.parameter @w : tensor<8x8xf32> from "w"
  func.func @encode(%x: tensor<?xi32> {transformer.name = "ids"}, %r: !transformer.segments)
      -> (tensor<?x8xf32> {transformer.name = "states"}) {
    %0 = transformer.gather @w[%x] : tensor<?x8xf32> loc("NAME.0.table")
    %1 = transformer.linear %0, @w : tensor<?x8xf32> -> tensor<?x8xf32> loc("NAME.0.first")
    %2 = transformer.linear %0, @w : tensor<?x8xf32> -> tensor<?x8xf32> loc("NAME.0.second")
    %3 = transformer.split_heads %1 : tensor<?x8xf32> -> tensor<?x2x4xf32> loc("NAME.0.first")
    %4 = transformer.contract "thd,khd->thk" %3, %3 in(%r, %r) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32> loc("NAME.0.attention")
    %5 = transformer.softmax %4 in(%r) : tensor<?x2x?xf32> loc("NAME.0.attention")
    %6 = transformer.contract "thk,khd->thd" %5, %3 in(%r, %r) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32> loc("NAME.0.attention")
    %7 = transformer.merge_heads %6 : tensor<?x2x4xf32> -> tensor<?x8xf32> loc("NAME.0.attention")
    %8 = transformer.add %7, %2 : tensor<?x8xf32>, tensor<?x8xf32> loc("NAME.0.sum")
    return %8 : tensor<?x8xf32>
  }
}
"""

UNUSED = """
module {
  transformer.parameter @w : tensor<8x8xf32> from "w"
  func.func @encode(%x: tensor<?xi32> {transformer.name = "ids"}, %r: !transformer.segments)
      -> (tensor<?x8xf32> {transformer.name = "states"}) {
    %0 = arith.constant dense<0.0> : tensor<8xf32> loc("unused")
    %1 = transformer.gather @w[%x] : tensor<?x8xf32>
    return %1 : tensor<?x8xf32>
  }
}
"""

UNFOLD = "[...document.querySelectorAll('#graph details.fold')]"
# Elements that reach beyond the window, but those that scroll by themselves.
OVERFLOW = """[...document.querySelectorAll('body *')].filter((each) =>
  each.getBoundingClientRect().right > innerWidth + 1 &&
  !each.closest('.drawing, nav.sections ul, .skip')).map((each) => each.outerHTML.slice(0, 120))"""


def analysis():
    """What `heddle analyze` writes of transformer-post, which has three layers of each kind."""
    kinds = []
    for kind, name in (("encoder", "encoder.layers.{}.self_attention"),
                       ("decoder", "decoder.layers.{}.self_attention"),
                       ("cross", "decoder.layers.{}.cross_attention")):
        kinds.append({"kind": kind, "layers": [name.format(layer) for layer in range(3)],
                      "similarity": [[1, 0.75, 0.5], [0.75, 1, 0.875], [0.5, 0.875, 1]],
                      "policy": [1, 2]})
    return {"model": "transformer-post", "theta": 0.2, "sentences": 7, "positions": 61,
            "kinds": kinds}


def write_square(path):
    """A checkpoint with "w", 8 x 8."""
    header = json.dumps({"w": {"dtype": "F32", "shape": [8, 8], "data_offsets": [0, 256]}}).encode()
    with open(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header + bytes(256))


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.browser = Browser(find_browser())
        cls.analysis = os.path.join(cls.folder.name, "analysis.json")
        with open(cls.analysis, "w", encoding="utf-8") as file:
            json.dump(analysis(), file)
        cls.page, cls.report = cls.compile(TRANSFORMER, "page", f"--analysis={cls.analysis}")

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.folder.cleanup()

    @classmethod
    def compile(cls, model, name, *options):
        """The page about a model, and the decisions of the JSON without options."""
        return cls.compile_with_gain(model, name, *options)[:2]

    @classmethod
    def compile_with_gain(cls, model, name, *options):
        """The same, and what predicts the gain."""
        page = os.path.join(cls.folder.name, name + ".html")
        report = os.path.join(cls.folder.name, name + ".json")
        command = [HEDDLEC, model, "--stop-after=dataflow", "-o", os.devnull]
        subprocess.run([*command, f"--report={page}", *options], check=True, stderr=subprocess.PIPE)
        subprocess.run([*command, f"--report={report}"], check=True, stderr=subprocess.PIPE)
        with open(report, encoding="utf-8") as file:
            elements = json.load(file)
        predicted = [each for each in elements if each["pass"] == "predicted-gain"]
        return page, elements[:len(elements) - len(predicted)], predicted

    def open(self, page, size=DESKTOP, dark=False):
        self.browser.complaints.clear()
        self.browser.requests.clear()
        self.browser.open(page, *size, dark)

    def tearDown(self):
        self.assertEqual(self.browser.complaints, [])
        # Nothing but the page itself, and no window.open or the like of a name.
        self.assertEqual({url.split(":")[0] for url in self.browser.requests} - {"file"}, set())

    def count(self, selector):
        return self.browser.run(f"document.querySelectorAll({json.dumps(selector)}).length")

    def text(self, selector):
        return self.browser.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def picture(self, name):
        if PICTURES:
            self.browser.screenshot(os.path.join(PICTURES, name + ".png"), whole=True)

    def test_head_and_summary(self):
        self.open(self.page)
        self.assertEqual(self.text("h1"), "transformer-post")
        self.assertIn("x86-64-v3, x86-64-v4", self.text("#facts"))
        self.assertIn(str(len(self.report)), self.text("#summary"))
        self.assertNotIn("object", self.text("#summary"))
        self.picture("desktop-light")

    def test_every_decision_is_listed(self):
        self.open(self.page)
        taken = sum(decision["taken"] for decision in self.report)
        self.assertGreater(len(self.report), 20)
        self.assertEqual(self.count("li.decision"), len(self.report))
        self.assertEqual(self.count("li.decision.taken"), taken)
        listed = self.browser.run("[...document.querySelectorAll('li.decision')].map((each) => "
                                  "[each.closest('details').querySelector('.fold-title').textContent,"
                                  " each.querySelector('.where').textContent,"
                                  " each.querySelector('.reason').textContent])")
        wanted = [[decision["pass"], decision["where"],
                   decision["what"] if decision["taken"] else decision["reason"]]
                  for decision in self.report]
        self.assertEqual(listed, wanted)

    def test_decisions_are_filtered(self):
        page, report = self.compile(TRANSFORMER, "declined", "--disable-pass=fuse-attention")
        self.open(page)
        # The JSON is of a compilation with the pass: here only the page without it counts.
        self.assertEqual(sum(decision["pass"] == "fuse-attention" for decision in report), 9)
        self.browser.run("document.querySelector('#decision-text').value = 'FFN.inner';"
                         "document.querySelector('#decision-text').dispatchEvent(new Event('input'))")
        shown = self.count("li.decision")
        self.assertGreater(shown, 0)
        self.assertEqual(self.browser.run(
            "[...document.querySelectorAll('li.decision')]"
            ".filter((each) => /ffn.inner/.test(each.textContent)).length"), shown)
        self.assertTrue(self.text("#decision-count").startswith(f"{shown} of "))
        self.browser.run("document.querySelector('#decision-text').value = '';"
                         "document.querySelector('#decision-pass').value = 'fold-epilogues';"
                         "document.querySelector('#decision-text').dispatchEvent(new Event('input'));"
                         "document.querySelector('#decision-pass').dispatchEvent(new Event('change'))")
        folded = sum(decision["pass"] == "fold-epilogues" for decision in report)
        self.assertGreater(folded, 0)
        self.assertEqual(self.count("details.pass-group"), 1)
        self.browser.run("document.querySelector('input[name=decision-verdict][value=declined]').click()")
        self.assertEqual(self.count("li.decision.taken"), 0)

    def test_layers_fold_and_unfold(self):
        self.open(self.page)
        # The encoder: what is before its layers, three equal layers, and the keys and values of the
        # decoder's, which are equal too.
        self.assertEqual(self.browser.run(f"{UNFOLD}.map((each) => each.open)"), [False] * 4)
        titles = self.browser.run(f"{UNFOLD}.map((each) => each.querySelector('summary').textContent)")
        self.assertIn("encoder.layers.0 \u2026 23 equal layers", titles[1])
        self.assertEqual(self.count("#graph svg"), 0)
        self.browser.run(f"{UNFOLD}[1].querySelector('summary').click()")
        self.browser.run("new Promise((done) => setTimeout(done, 50))")
        self.assertEqual(self.count("#graph svg"), 2)
        operations = self.browser.run("[...document.querySelectorAll('#graph svg')].map((svg) => "
                                      "[...svg.querySelectorAll('.operation')].map((each) => each.textContent))")
        self.assertEqual(operations[0].count("softmax"), 1)
        self.assertNotIn("attention", operations[0])
        self.assertEqual(operations[1].count("attention"), 1)
        self.assertNotIn("softmax", operations[1])
        self.assertGreater(self.count("#graph svg path.edge"), 30)
        self.picture("unfolded")
        # Another of the equal layers, by its number.
        self.browser.run("document.querySelectorAll('#graph .fold[open] .choice input')[2].click()")
        self.browser.run("document.querySelector('#graph .box').dispatchEvent(new MouseEvent('click'))")
        self.assertIn("encoder.layers.2.self_attention.", self.text("#graph .chosen-node"))
        self.browser.run(f"{UNFOLD}[1].querySelector('summary').click()")
        self.assertFalse(self.browser.run(f"{UNFOLD}[1].open"))
        self.browser.run("document.querySelector('#unfold-all').click()")
        self.browser.run("new Promise((done) => setTimeout(done, 50))")
        # Keys and values of all layers come from one projection, which is in none of them.
        self.assertEqual(self.count("#graph svg"), 7)
        self.assertIn("Nothing is left here.", self.text("#graph"))
        self.browser.run("document.querySelector('#fold-all').click()")
        self.assertFalse(any(self.browser.run(f"{UNFOLD}.map((each) => each.open)")))

    def test_boxes_lie_apart(self):
        self.open(self.page)
        self.browser.run("document.querySelectorAll('input[name=graph-entry]')[1].click();"
                         "document.querySelector('#unfold-all').click()")
        self.browser.run("new Promise((done) => setTimeout(done, 50))")
        overlaps = self.browser.run("""[...document.querySelectorAll('#graph svg')].flatMap((svg) => {
          const boxes = [...svg.querySelectorAll('.box > rect:first-of-type, .pill > rect')]
            .map((each) => each.getBoundingClientRect());
          return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) =>
            a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom));
        }).length""")
        self.assertGreater(self.count("#graph .box"), 50)
        self.assertEqual(overlaps, 0)
        upwards = self.browser.run("""[...document.querySelectorAll('#graph path.edge')].filter((each) => {
          const length = each.getTotalLength();
          return each.getPointAtLength(0).y >= each.getPointAtLength(length).y;
        }).length""")
        self.assertEqual(upwards, 0)

    def test_the_keyboard_is_enough(self):
        self.open(self.page)
        self.browser.run(f"{UNFOLD}[1].querySelector('summary').focus()")
        self.browser.press("Enter", 13)
        self.browser.run("new Promise((done) => setTimeout(done, 50))")
        self.assertTrue(self.browser.run(f"{UNFOLD}[1].open"))
        self.browser.run("document.querySelector('#graph .box').focus()")
        self.browser.press("Enter", 13)
        self.assertEqual(self.count("#graph .box.chosen"), 1)
        self.assertIn("checkpoint", self.text("#graph .chosen-node"))
        reachable = self.browser.run("[...document.querySelectorAll('button, select, input, summary, .box')]"
                                     ".filter((each) => each.tabIndex < 0).length")
        self.assertEqual(reachable, 0)

    def test_costs_add_up(self):
        self.open(self.page)
        for metric in ("flops_per_token", "flops_per_token_and_key", "weight_bytes", "bytes_per_token"):
            for by in ("stack", "layer", "kind"):
                self.browser.run(f"document.querySelector('input[value={metric}]').click();"
                                 f"document.querySelector('input[name=cost-by][value={by}]').click()")
                tables = self.browser.run("""[...document.querySelectorAll('.bars')].map((table) => ({
                  total: table.querySelector('caption .number').title,
                  rows: [...table.querySelectorAll('td .number')].map((each) => each.title),
                  shares: [...table.querySelectorAll('.share')].map((each) => parseFloat(each.textContent)) }))""")
                self.assertGreaterEqual(len(tables), 1, (metric, by))
                for table in tables:
                    rows = [int(number.replace(",", "")) for number in table["rows"]]
                    self.assertEqual(sum(rows), int(table["total"].replace(",", "")), (metric, by))
                    self.assertAlmostEqual(sum(table["shares"]), 100, delta=1)

    def test_known_costs(self):
        """Width 48, inner width 96, three layers, 61 words: counted by hand."""
        self.open(self.page)
        totals = self.browser.run("data_totals = (() => { const data = JSON.parse("
                                  "document.getElementById('data').textContent);"
                                  "return data.costs.map((entry) => metrics.map((metric) => "
                                  "totalOf(entry, metric))); })()")
        width, inner, words, layers = 48, 96, 61, 3
        encoder = layers * 2 * (4 * width * width + 2 * width * inner)
        memory = layers * 2 * 2 * width * width
        decoder = layers * 2 * (6 * width * width + 2 * width * inner) + 2 * words * width
        self.assertEqual([entry[0] for entry in totals], [encoder + memory, decoder])
        self.assertEqual([entry[1] for entry in totals],
                         # And the probabilities of the last layer, which are an output.
                         [layers * 4 * width, layers * 2 * 4 * width + 2 * width])
        # Keys and values of each layer, four bytes a number: of the source, and of the target.
        self.assertEqual([entry[3] for entry in totals], [layers * 2 * 4 * width] * 2)

    def test_states(self):
        """Average attention: a sum of 48 floats a layer, and no cache of the target."""
        self.open(self.compile(AVERAGE, "average")[0])
        self.assertIn("State per sequence", self.text("#summary"))
        self.browser.run("document.querySelector('input[value=bytes_per_sequence]').click();"
                         "document.querySelector('input[name=cost-by][value=layer]').click()")
        bars = self.browser.run("[...document.querySelectorAll('.bars')].map((table) => "
                                "[table.querySelector('caption').firstChild.data, ...[...table"
                                ".querySelectorAll('td .number')].map((each) => each.title)])")
        self.assertEqual(bars, [["decode", "192", "192", "192"]])
        self.assertEqual(self.text(".legend"), "state")
        self.open(self.page)
        self.assertNotIn("State", self.text("#summary"))

    def gains(self):
        """By entry: the totals of both programs, and the predicted numbers."""
        return self.browser.run("""Object.fromEntries([...document.querySelectorAll('#gain article')].map((each) =>
          [each.querySelector('h3').textContent, {
            totals: Object.fromEntries([...each.querySelectorAll('[data-key]')].map((row) =>
              [row.dataset.key, [...row.querySelectorAll('.number')].map((number) =>
                parseInt(number.title.replaceAll(',', '')))])),
            predicted: [...each.querySelectorAll('.predicted tbody tr')].map((row) =>
              [...row.children].map((cell) => cell.textContent)) }]))""")

    def test_predicted_gain(self):
        page, _, predicted = self.compile_with_gain(WEIGHTED, "weighted")
        self.open(page)
        self.picture("gain")
        gains = self.gains()
        self.assertEqual(list(gains), ["encode", "decode"])
        # Of four branches in each of three layers, a head's 12 columns to 48 and these to 24 of the
        # inner width become one product of 12 by 24.
        saved = 3 * 4 * 2 * (12 * 48 + 48 * 24 - 12 * 24)
        before, after = gains["decode"]["totals"]["flops_per_token"]
        self.assertEqual(before - after, saved)
        self.assertEqual(gains["decode"]["predicted"],
                         [["24 of history, 24 of source",
                           "1.25\u00a0\u00d7", "1.26\u00a0\u00d7", "1.40\u00a0\u00d7"],
                          ["64 of history, 24 of source",
                           "1.22\u00a0\u00d7", "1.22\u00a0\u00d7", "1.39\u00a0\u00d7"]])
        self.assertEqual([row[0] for row in gains["encode"]["predicted"]], ["16 tokens", "64 tokens"])
        self.check_totals(predicted)

    def test_totals_with_states(self):
        page, _, predicted = self.compile_with_gain(AVERAGE, "states")
        self.open(page)
        self.check_totals(predicted)

    def check_totals(self, predicted):
        """All that is not zero in both programs is shown."""
        gains = self.gains()
        self.assertEqual(list(gains), [entry["where"] for entry in predicted])
        for entry in predicted:
            before, after = entry["before"], entry["after"]
            self.assertEqual(gains[entry["where"]]["totals"],
                             {key: [before[key], after[key]] for key in before
                              if before[key] or after[key]})

    def test_a_gain_that_cannot_be_predicted(self):
        """Without the passes, what nothing needs is there to be lowered."""
        program = os.path.join(self.folder.name, "unused.mlir")
        with open(program, "w", encoding="utf-8") as file:
            file.write(UNUSED)
        write_square(program.replace(".mlir", ".safetensors"))
        self.open(self.compile(program, "unused")[0])
        self.assertIn("Not predicted: without the passes the program cannot be taken to the phase "
                      "\"dataflow\": \"unused\": ", self.text("#gain .reason"))
        self.assertEqual(self.count("#gain table"), 0)

    def test_heat_maps(self):
        self.open(self.page)
        self.assertEqual(self.count("#attention svg.heat-map"), 3)
        # Nine squares each, and a frame around the block of two.
        self.assertEqual(self.count("#attention svg.heat-map g > rect"), 27)
        self.assertEqual(self.count("#attention svg.heat-map rect.block"), 3)
        self.assertEqual(self.text("#attention svg.heat-map g:nth-of-type(2) title"),
                         "encoder.layers.0.self_attention and encoder.layers.1.self_attention: 0.7500")
        self.assertIn("7 sentences", self.text("#attention"))
        # It takes the colors of the page, light or dark.
        for dark in (False, True):
            self.open(self.page, DESKTOP, dark)
            self.assertEqual(*self.browser.run(
                "[getComputedStyle(document.querySelector('.heat-map .label')).fill,"
                " getComputedStyle(document.body).color]"))
        page, _ = self.compile(BERT, "bert")
        self.open(page)
        self.assertEqual(self.count("#attention"), 0)
        self.assertEqual(self.count("#sections a"), 5)

    def test_nothing_is_wider_than_a_phone(self):
        for page in (self.page, self.compile(BERT, "bert")[0], self.compile(AVERAGE, "average")[0]):
            for dark in (False, True):
                self.open(page, PHONE, dark)
                self.browser.run("document.querySelector('#unfold-all').click();"
                                 "document.querySelectorAll('details').forEach((each) => { each.open = true; })")
                self.browser.run("new Promise((done) => setTimeout(done, 100))")
                self.picture("phone-dark" if dark else "phone-light")
                for metric in self.browser.run("metrics.map((metric) => metric.key)"):
                    self.browser.run(f"document.querySelector('input[value={metric}]').click()")
                    self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), 390)
                    self.assertEqual(self.browser.run(OVERFLOW), [])

    def test_light_and_dark(self):
        """Every text stands out against what is behind it (WCAG 2, 4.5 to 1; large ones 3 to 1)."""
        for dark in (False, True):
            self.open(self.page, DESKTOP, dark)
            if dark:
                self.picture("desktop-dark")
            background = self.browser.run("getComputedStyle(document.body).backgroundColor")
            brightness = sum(int(part) for part in background[4:-1].split(",")) / 3
            self.assertEqual(brightness < 128, dark, background)
            self.browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
            self.browser.run("new Promise((done) => setTimeout(done, 100))")
            faint = self.browser.run("""(() => {
              const parse = (color) => color.match(/[\\d.]+/g).map(Number);
              const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
                .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
                .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
              const behind = (each) => {
                for (; each; each = each.parentElement) {
                  const color = parse(getComputedStyle(each).backgroundColor);
                  if (color.length === 3 || color[3] > 0) { return color; }
                }
                return [255, 255, 255];
              };
              return [...document.querySelectorAll('main :not(svg, svg *), header *, nav *')]
                .filter((each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
                .map((each) => {
                  const [a, b] = [light(parse(getComputedStyle(each).color)), light(behind(each))];
                  return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), each.outerHTML.slice(0, 90)];
                }).filter(([contrast]) => contrast < 4.5);
            })()""")
            self.assertEqual(faint, [], "dark" if dark else "light")

    def test_names_cannot_break_out(self):
        program = os.path.join(self.folder.name, "<b>hostile.mlir")
        with open(program, "w", encoding="utf-8") as file:
            file.write(HOSTILE.replace("NAME", EVIL))
        write_square(program.replace(".mlir", ".safetensors"))
        file_name = os.path.join(self.folder.name, "hostile-analysis.json")
        with open(file_name, "w", encoding="utf-8") as file:
            json.dump({"model": EVIL, "theta": None, "sentences": 1, "positions": 1, "kinds": [
                {"kind": "encoder", "layers": [EVIL + ".0.attention"], "similarity": [[1]], "policy": None}]}, file)
        page, report = self.compile(program, "hostile", f"--analysis={file_name}")
        self.open(page)
        self.assertEqual(self.count("b"), 0)
        self.assertEqual(self.count("script"), 2)
        self.assertEqual(self.text("h1"), "<b>hostile.mlir")
        self.assertIn(EVIL, self.text("#attention svg title"))
        self.assertTrue(any(EVIL in decision["where"] for decision in report), report)
        self.assertEqual(self.browser.run("[...document.querySelectorAll('.where')].map((each) => each.textContent)"),
                         [decision["where"] for decision in report])
        self.browser.run("document.querySelector('#unfold-all').click()")
        self.browser.run("new Promise((done) => setTimeout(done, 50))")
        self.assertEqual(self.count("b"), 0)
        self.assertIn(EVIL, self.text("#graph .fold-title"))
        self.assertGreater(self.count("#graph .box"), 3)

    def test_a_program_without_later_phases(self):
        """What is not known is not there."""
        page = os.path.join(self.folder.name, "model.html")
        subprocess.run([HEDDLEC, BERT, "--stop-after=fused", "-o", os.devnull, f"--report={page}"],
                       check=True, stderr=subprocess.PIPE)
        self.open(page)
        self.assertEqual(self.count("#gain, #costs, #entries, #attention"), 0)
        self.assertEqual(self.count("#graph"), 1)


if __name__ == "__main__":
    if find_browser() is None:
        print(f"SKIPPED: the report page was opened in NO BROWSER: none of {', '.join(PROGRAMS)} is "
              "installed, and HEDDLE_BROWSER names none; run ./dev setup", file=sys.stderr)
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
