// SPDX-License-Identifier: Apache-2.0
///
/// Arbitrary bytes as an ONNX file: a message that begins with the name of the file, or a program
/// that verifies.
#include "frontend/Onnx/OnnxProgram.h"
#include "tests/Fuzzing/FreshContext.h"
#include "tests/Fuzzing/ProtobufMutation.h"
#include "tests/Fuzzing/ScratchFolder.h"

#include "mlir/IR/Verifier.h"

using namespace heddle;
using fuzzing::freshContext;
using fuzzing::require;

HEDDLE_FUZZ_MUTATION(fuzzing::mutateProtobuf)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzzing::ScratchFolder folder;
  folder.write("m.onnx", {reinterpret_cast<const char *>(data), size});
  const std::string path = folder.path("m.onnx");
  const Result<OnnxProgram> program = readOnnxProgram(freshContext(), path);
  if (!program.ok()) {
    const std::string_view message = program.status().message();
    require(message.starts_with(path + ": "));
    // The importer must reject files itself: an operation that fails verification is a bug.
    require(message.find("'transformer.") == std::string_view::npos);
    return 0;
  }
  require(mlir::succeeded(mlir::verify(*program->module)));
  return 0;
}
