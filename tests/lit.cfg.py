# SPDX-License-Identifier: Apache-2.0
# The lit suites: every .mlir and .test file with RUN lines. The binary directory's lit.site.cfg.py
# says where the tools are and then loads this file.
import os
import sys

import lit.formats

config.name = "heddle"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
# Data, not tests.
config.excludes = ["oracles", "spellings", "kept", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.heddle_binary_dir + "/tests"

config.environment["PATH"] = os.pathsep.join(
    [config.heddle_binary_dir + "/bin", config.llvm_tools_dir, config.environment["PATH"]]
)
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# CUDA's assembler, where HEDDLE_PTXAS says, as in the nightly preset: it takes minutes.
ptxas = os.environ.get("HEDDLE_PTXAS")
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))
config.substitutions.append(("%python", sys.executable))
config.substitutions.append(("%source", config.heddle_source_dir))
config.substitutions.append(("%binary", config.heddle_binary_dir))
