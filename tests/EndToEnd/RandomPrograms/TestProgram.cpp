// SPDX-License-Identifier: Apache-2.0
///
/// Converts programs to text and back.
#include "tests/EndToEnd/RandomPrograms/TestProgram.h"

#include "base/MappedFile.h"
#include "compiler/Pipeline.h"
#include "formats/Checkpoint/Checkpoint.h"
#include "frontend/Import/ProgramCheck.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <fstream>

using namespace mlir;

namespace heddle {

using namespace transformer;

/// The beginning of a sequence's line.
static constexpr llvm::StringLiteral sequenceMark = "// sequence:";

std::unique_ptr<MLIRContext> createContext() {
  auto context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  registerDialects(*context);
  context->loadAllAvailableDialects();
  return context;
}

TestProgram TestProgram::clone() const {
  return {OwningOpRef<ModuleOp>((*module).clone()), tensors, sequences, notes};
}

func::FuncOp TestProgram::entry(llvm::StringRef name) const {
  return (*module).lookupSymbol<func::FuncOp>(name);
}

bool TestProgram::decodes() const { return entry("encode") && entry("decode"); }

int64_t TestProgram::operations() const {
  int64_t count = 0;
  for (func::FuncOp entry : (*module).getOps<func::FuncOp>()) {
    for (Operation &op : entry.getBody().front().without_terminator()) {
      count += isa<WeightOp, MaskOp, HistoryOp, PositionsOp>(op) ? 0 : 1;
    }
  }
  return count;
}

static void writeIds(llvm::raw_ostream &stream, llvm::ArrayRef<int32_t> ids) {
  for (int32_t id : ids) {
    stream << ' ' << id;
  }
}

std::string TestProgram::text() const {
  std::string result;
  llvm::raw_string_ostream stream(result);
  stream << "// SPDX-License-Identifier: Apache-2.0\n";
  for (const std::string &note : notes) {
    stream << "// " << note << "\n";
  }
  for (const Sequence &sequence : sequences) {
    stream << sequenceMark;
    writeIds(stream, sequence.ids);
    stream << " |";
    writeIds(stream, sequence.types);
    stream << " |";
    writeIds(stream, sequence.target);
    stream << "\n";
  }
  (*module).print(stream);
  stream << "\n";
  return result;
}

Status TestProgram::write(const std::string &path) const {
  std::vector<SafetensorsTensor> stored;
  for (auto parameter : (*module).getOps<ParameterOp>()) {
    if (std::optional<StringRef> source = parameter.getSource()) {
      const bool isNew = llvm::none_of(
          stored, [&](const SafetensorsTensor &each) { return each.name == source->str(); });
      if (isNew) {
        stored.push_back({source->str(), ElementType::F32,
                          parameter.getTensorType().getShape().vec(),
                          std::as_bytes(std::span(tensors.at(source->str())))});
      }
    }
  }
  HEDDLE_TRY(writeSafetensors(path + ".safetensors", stored));
  std::ofstream stream(path + ".mlir", std::ios::binary);
  stream << text();
  return stream.flush() ? Status() : HEDDLE_ERROR(InputOutput, path + ".mlir: cannot write");
}

static std::vector<int32_t> parseIds(llvm::StringRef text) {
  std::vector<int32_t> ids;
  llvm::SmallVector<llvm::StringRef> words;
  text.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word : words) {
    int32_t id = 0;
    if (!word.getAsInteger(10, id)) {
      ids.push_back(id);
    }
  }
  return ids;
}

/// Parses the comments above the program.
static void parseNotes(llvm::StringRef text, TestProgram &program) {
  while (text.starts_with("//")) {
    auto [line, rest] = text.split('\n');
    text = rest;
    llvm::StringRef sequence = line;
    if (sequence.consume_front(sequenceMark)) {
      llvm::SmallVector<llvm::StringRef> parts;
      sequence.split(parts, '|');
      parts.resize(3);
      program.sequences.push_back({parseIds(parts[0]), parseIds(parts[1]), parseIds(parts[2])});
    } else if (!line.contains("SPDX")) {
      program.notes.push_back(line.drop_front(2).trim().str());
    }
  }
}

Result<TestProgram> parseProgram(MLIRContext &context, std::string_view text, Tensors tensors) {
  std::string reason;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    reason += diagnostic.str() + "\n";
    return success();
  });
  TestProgram program;
  program.tensors = std::move(tensors);
  parseNotes(llvm::StringRef(text.data(), text.size()), program);
  program.module = parseSourceString<ModuleOp>(llvm::StringRef(text.data(), text.size()),
                                               ParserConfig(&context));
  if (!program.module || failed(verifyEntries(*program.module))) {
    return HEDDLE_ERROR(InvalidArgument, "no program of the model level: " + reason);
  }
  return program;
}

Result<TestProgram> readProgram(MLIRContext &context, const std::string &path) {
  HEDDLE_ASSIGN(const MappedFile file, MappedFile::open(path + ".mlir"));
  HEDDLE_ASSIGN(const Checkpoint checkpoint, Checkpoint::open(path + ".safetensors"));
  Tensors tensors;
  for (const std::string &name : checkpoint.names()) {
    std::vector<float> &values = tensors[name];
    int64_t count = 1;
    for (int64_t size : checkpoint.find(name)->shape) {
      count *= size;
    }
    values.resize(static_cast<size_t>(count));
    HEDDLE_TRY(checkpoint.readF32(name, values));
  }
  return parseProgram(context, file.text(), std::move(tensors));
}

} // namespace heddle
