#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tidy.py finds in sources that share a unit, and in those that cannot."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import tidy  # noqa: E402

LLVM = "/usr/lib/llvm-22/bin/"
PROGRAM = Path(tidy.__file__).resolve()
LONG_IF = "int {0}(int value) {{\n  if (value > 0)\n    return 1;\n  return 0;\n}}\n"


class TidyTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        # Findings of headers are shown where the folder is one of the project's.
        self.place = Path(temporary.name).resolve() / "base"
        self.place.mkdir()

    def run_over(self, sources, *options, built=None):
        """Exit code, findings without their notes, messages."""
        for name, text in sources.items():
            (self.place / name).write_text(text, encoding="utf-8")
        names = [name for name in sources if name.endswith(".cpp")]
        entries = [{"directory": str(self.place), "file": str(self.place / name),
                    "command": f"{LLVM}clang++ -std=c++20 -o {name}.o -c {self.place / name}"}
                   for name in (names if built is None else built)]
        (self.place / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")
        done = subprocess.run([PROGRAM, self.place, "--clang-tidy", LLVM + "clang-tidy", *options,
                               *(self.place / name for name in names)],
                              capture_output=True, text=True, check=False)
        return done.returncode, [match[0].replace(f"{self.place}/", "")
                                 for match in tidy.FINDING.finditer(done.stdout)], done.stderr

    def test_findings_of_a_unit(self):
        header = "#pragma once\nstatic inline " + LONG_IF.format("inHeader")
        begin = '#include "header.h"\n'
        code, found, _ = self.run_over({"header.h": header, "a.cpp": begin + LONG_IF.format("a"),
                                        "b.cpp": begin + LONG_IF.format("b"), "c.cpp": begin})
        self.assertEqual(code, 1)
        self.assertEqual([finding.split(" ")[0] for finding in sorted(found)],
                         ["a.cpp:3:17:", "b.cpp:3:17:", "header.h:3:17:"])
        for finding in found:
            self.assertIn("readability-braces-around-statements", finding)

    def test_clean(self):
        self.assertEqual(self.run_over({"a.cpp": "int a() { return 1; }\n", "b.cpp": "int b();\n"}),
                         (0, [], ""))

    def test_units_of_the_build(self):
        sources = {"a.cpp": LONG_IF.format("a"), "b.cpp": LONG_IF.format("b")}
        folder = self.place / "Unity"
        folder.mkdir()
        unit = folder / "unity_0_cxx.cxx"
        unit.write_text("".join(f'#include "{self.place / name}"\n' for name in sources), encoding="utf-8")
        code, found, message = self.run_over(sources, built=["Unity/unity_0_cxx.cxx"])
        self.assertEqual((code, message), (1, ""))
        self.assertEqual([finding.split(" ")[0] for finding in sorted(found)], ["a.cpp:2:17:", "b.cpp:2:17:"])

    def test_units_that_do_not_compile(self):
        # One spelling of a type that names_of() takes for two.
        sources = {"a.cpp": "static int f(unsigned) { return 1; }\nint a() { return f(1); }\n",
                   "b.cpp": "static int f(unsigned int) { return 2; }\n" + LONG_IF.format("Bad"),
                   "c.cpp": "int c() { return 1; }\n"}
        code, found, _ = self.run_over(sources)
        self.assertEqual(code, 1)
        self.assertEqual(len(found), 2, found)  # a capital, no braces
        self.assertTrue(all(finding.startswith("b.cpp:") for finding in found), found)

    def test_source_that_does_not_compile(self):
        code, found, _ = self.run_over({"a.cpp": "int a() { return 1; }\n", "b.cpp": "int b( {}\n"})
        self.assertEqual(code, 1)
        self.assertTrue(all(finding.startswith("b.cpp:1:") for finding in found), found)
        self.assertIn("clang-diagnostic-error", found[0])

    def test_checks(self):
        off = "--checks=-readability-braces-around-statements"
        self.assertEqual(self.run_over({"a.cpp": LONG_IF.format("a")}, off)[:2], (0, []))

    def test_tests_have_fewer_checks(self):
        (self.place / "tests").mkdir()
        copied = "struct Big {{ Big(const Big &); ~Big(); int x; }};\nint {0}(Big big) {{ return big.x; }}\n"
        sources = {"a.cpp": copied.format("a"), "tests/b.cpp": copied.format("b") + LONG_IF.format("c")}
        for options in ((), ("--checks=-clang-analyzer-*",)):
            code, found, _ = self.run_over(sources, *options)
            self.assertEqual(code, 1)
            self.assertEqual([(finding.split(":")[0], finding.split("[")[1].split(",")[0])
                              for finding in sorted(found)],
                             [("a.cpp", "performance-unnecessary-value-param"),
                              ("tests/b.cpp", "readability-braces-around-statements")])

    def test_not_compiled(self):
        code, found, messages = self.run_over({"a.cpp": "int a();\n"}, built=[])
        self.assertEqual((code, found), (0, []))
        self.assertEqual(messages, f"{self.place}/a.cpp: not compiled in {self.place}, not looked at\n")


class UnitsTest(unittest.TestCase):
    def names(self, text):
        return sorted(tidy.names_of(text))

    def test_names(self):
        self.assertEqual(self.names("#define DEBUG_TYPE 1\n"), ["DEBUG_TYPE"])
        self.assertEqual(self.names("struct Part;\nstruct Row {\nenum class Kind {\n"), ["Kind", "Row"])
        self.assertEqual(self.names("static constexpr int64_t most[] = {1};\nstatic int seen;\n"),
                         ["most", "seen"])
        self.assertEqual(self.names("TEST(Cache, IsFull) {\nTEST_F(Pool, Ends) {\n"),
                         ["Cache::IsFull", "Pool::Ends"])
        self.assertEqual(self.names("namespace heddle {\nusing namespace mlir;\n"), [])

    def test_functions(self):
        one = self.names("static int64_t rowsOf(const Batch &batch, int64_t row) {\n")
        self.assertEqual(one, self.names("static int64_t rowsOf(const Batch &all,\n    int64_t at) {\n"))
        self.assertNotEqual(one, self.names("static int64_t rowsOf(const Plan &plan, int64_t row) {\n"))
        # A member belongs to its class.
        self.assertEqual(self.names("void Batch::add(int row) {\n"), [])

    def units(self, *flags, most=9):
        """Which sources with these flags share a unit, and the words of each unit."""
        with tempfile.TemporaryDirectory() as folder:
            sources = [Path(folder) / f"{number}.cpp" for number in range(len(flags))]
            for source in sources:
                source.write_text(f"int f{source.stem}();\n", encoding="utf-8")
            commands = {source: {"file": str(source), "command": f"clang++ {words} -o x.o -c {source}"}
                        for source, words in zip(sources, flags)}
            units = tidy.units_of(sources, commands, most)
            return ([[int(source.stem) for source in unit] for unit in units],
                    [" ".join(tidy.together(unit, commands)) for unit in units])

    def test_flags_that_go_together(self):
        self.assertEqual(self.units("-DA=1 -I/a -fPIC", "-DA=1 -DB -I/a -isystem /b -fPIE -fno-rtti"),
                         ([[0, 1]], ["clang++ -DA=1 -DB -I/a -isystem /b"]))
        # Alone a source keeps all of them.
        self.assertEqual(self.units("-DA=1 -fno-rtti -O3"), ([[0]], ["clang++ -DA=1 -fno-rtti -O3"]))

    def test_flags_that_do_not(self):
        self.assertEqual(self.units("-DA=1", "-DA=2", "-DB")[0], [[0, 2], [1]])
        self.assertEqual(self.units("-std=c++20", "-std=c++17")[0], [[0], [1]])
        self.assertEqual(self.units("-include-pch /a", "-include-pch /b", "-include-pch /a")[0],
                         [[0, 2], [1]])
        self.assertEqual(self.units("", "", "", most=2)[0], [[0, 1], [2]])

    def test_flags_of_precompiled_headers(self):
        header = "-Xclang -include-pch -Xclang /a"
        self.assertEqual(self.units(f"-fPIE -fno-rtti -fPIC {header}", f"-fPIC -fno-rtti {header}"),
                         ([[0, 1]], [f"clang++ -fno-rtti {header} -fPIC"]))
        self.assertEqual(self.units(f"-fno-rtti {header}", header)[0], [[0], [1]])
        self.assertEqual(self.units(f"-fPIC {header}", f"-fPIE {header}")[0], [[0], [1]])


if __name__ == "__main__":
    unittest.main()
