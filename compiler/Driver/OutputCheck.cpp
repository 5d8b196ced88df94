// SPDX-License-Identifier: Apache-2.0
///
/// Compares outputs with inputs and with each other, then opens them.
#include "compiler/Driver/OutputCheck.h"

#include "base/AtomicFile.h"
#include "base/SameFile.h"
#include "base/Utf8.h"

#include "llvm/ADT/STLExtras.h"

#include <filesystem>

namespace heddle {

/// Opens what commit() would rename; nothing is written.
static Status checkWritable(const std::string &path) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  using enum std::filesystem::file_type;
  // The reader of a pipe would see its end.
  if (type != not_found && type != regular && type != directory) {
    return {};
  }
  return AtomicFile::open(path).status();
}

Status checkOutputs(const CompileRequest &request, llvm::ArrayRef<std::string> sourceFiles) {
  std::vector<OutputFile> outputs = request.otherOutputs;
  if (!request.output.empty()) {
    outputs.insert(outputs.begin(), {request.names.output, request.output});
  }
  std::vector<std::string> inputs = {request.path, request.analysis, request.calibration};
  llvm::append_range(inputs, sourceFiles);
  for (const auto &[number, output] : llvm::enumerate(outputs)) {
    const std::string &path = output.path;
    const std::string seen = std::string(output.name) + " is " + quote(path) + ", which is ";
    if (llvm::any_of(inputs, [&](const auto &input) { return isSameFile(input, path); })) {
      return HEDDLE_ERROR(InvalidArgument, seen + "a file that is read, expected another one");
    }
    for (const OutputFile &before : llvm::ArrayRef(outputs).take_front(number)) {
      if (isSameFile(before.path, path)) {
        return HEDDLE_ERROR(InvalidArgument, seen + "that of " + std::string(before.name) +
                                                 ", expected another one");
      }
    }
    HEDDLE_TRY(checkWritable(path));
  }
  return {};
}

} // namespace heddle
