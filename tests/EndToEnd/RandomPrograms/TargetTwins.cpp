// SPDX-License-Identifier: Apache-2.0
///
/// Compares the kernels of targets, as text and as code.
#include "tests/EndToEnd/RandomPrograms/TargetTwins.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Support/raw_ostream.h"

#include <vector>

using namespace mlir;

namespace heddle {

std::string printed(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  // Phases have verified it. Verifying again costs more than printing.
  op->print(stream, OpPrintingFlags().assumeVerified().useLocalScope());
  return text;
}

/// Returns everything that determines the code of a target, except its name and its further
/// instructions: the phase `llvm` only adds attributes that depend on the lanes.
static std::string definitionOf(ModuleOp module, const TargetDescription &target) {
  std::string text = printed(module);
  const std::string name = target.name.str();
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
    text.erase(at, name.size());
  }
  return (target.triple + " " + target.processor + " " + llvm::Twine(target.lanes) + "\n" + text)
      .str();
}

TargetTwins findTwins(ModuleOp module) {
  TargetTwins twins;
  std::map<std::string, std::string> seen;
  for (auto nested : module.getOps<ModuleOp>()) {
    const TargetDescription &target = *findTarget(*nested.getSymName());
    const auto [found, isNew] = seen.try_emplace(definitionOf(nested, target), target.name.str());
    if (!isNew) {
      twins[target.name.str()] = found->second;
    }
  }
  return twins;
}

void removeTwins(ModuleOp module, const TargetTwins &twins) {
  for (auto nested : llvm::make_early_inc_range(module.getOps<ModuleOp>())) {
    if (twins.contains(nested.getSymName()->str())) {
      nested.erase();
    }
  }
}

/// Returns the bytes of an object's code and constants, section by section; empty if it cannot be
/// read.
static std::vector<std::string> contentOf(const Code &object) {
  const llvm::MemoryBufferRef buffer({object.data(), object.size()}, "object");
  auto file = llvm::object::ObjectFile::createELFObjectFile(buffer);
  if (!file) {
    llvm::consumeError(file.takeError());
    return {};
  }
  std::vector<std::string> content;
  for (const llvm::object::SectionRef &section : (*file)->sections()) {
    if (section.isText() || section.isData()) {
      llvm::Expected<llvm::StringRef> bytes = section.getContents();
      if (!bytes) {
        llvm::consumeError(bytes.takeError());
        return {};
      }
      content.push_back(bytes->str());
    }
  }
  return content;
}

bool haveSameCode(const Code &object, const Code &other) {
  const std::vector<std::string> content = contentOf(object);
  return !content.empty() && content == contentOf(other);
}

} // namespace heddle
