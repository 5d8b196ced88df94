// SPDX-License-Identifier: Apache-2.0
///
/// The list of targets of all back ends, and their names in options.
#include "compiler/Target/Target.h"

#include "base/ProcessorTargets.h"
#include "base/Utf8.h"
#include "compiler/Target/Cpu/CpuTargets.h"
#include "compiler/Target/Cuda/CudaTargets.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"

namespace heddle {

llvm::ArrayRef<TargetDescription> allTargets() {
  static const std::vector<TargetDescription> targets = [] {
    std::vector<TargetDescription> all = cpuTargets();
    llvm::append_range(all, cudaTargets());
    return all;
  }();
  return targets;
}

void registerTargetDialects(mlir::DialectRegistry &registry) {
  llvm::SmallPtrSet<const TargetBackend *, 2> known;
  for (const TargetDescription &target : allTargets()) {
    if (known.insert(target.backend).second) {
      target.backend->registerDialects(registry);
    }
  }
}

int64_t panelStep(const TargetDescription &target) {
  constexpr int64_t codesInWord = 8;
  return std::max(target.lanes, codesInWord);
}

std::string kernelFunctionName(llvm::StringRef kernel, llvm::StringRef target) {
  return (kernel + "." + target).str();
}

std::string finishKernelName(llvm::StringRef kernel) { return (kernel + ".finish").str(); }
std::string mergeKernelName(llvm::StringRef kernel) { return (kernel + ".merge").str(); }
std::string roundKernelName(llvm::StringRef kernel) { return (kernel + ".round").str(); }

const TargetDescription *findTarget(llvm::StringRef name) {
  for (const TargetDescription &target : allTargets()) {
    if (target.name == name) {
      return &target;
    }
  }
  return nullptr;
}

mlir::FailureOr<TargetDescription> parseTarget(llvm::StringRef text, std::string &reason) {
  auto [name, columns] = text.split(':');
  const TargetDescription *known = findTarget(name);
  if (!known) {
    reason = "unknown target " + quote(name.str()) + ", expected one of " + targetNames();
    return mlir::failure();
  }
  TargetDescription target = *known;
  const bool isNumber = name == text || !columns.getAsInteger(10, target.panelColumns);
  if (!isNumber || target.panelColumns <= 0 || target.panelColumns > mostPanelColumns ||
      target.panelColumns % panelStep(target) != 0) {
    reason = "target " + quote(name.str()) + " has panels of " + quote(columns.str()) +
             " columns, expected a multiple of " + std::to_string(panelStep(target)) + " up to " +
             std::to_string(mostPanelColumns);
    return mlir::failure();
  }
  return target;
}

std::string targetText(const TargetDescription &target) {
  const bool isOwn = findTarget(target.name)->panelColumns == target.panelColumns;
  return target.name.str() + (isOwn ? "" : ":" + std::to_string(target.panelColumns));
}

static constexpr llvm::StringLiteral panelColumnsName = "dataflow.panel_columns";

mlir::ModuleOp createTargetModule(mlir::OpBuilder &builder, mlir::Location location,
                                  const TargetDescription &target) {
  auto module = mlir::ModuleOp::create(builder, location, target.name);
  if (targetText(target) != target.name) {
    module->setAttr(panelColumnsName, builder.getI64IntegerAttr(target.panelColumns));
  }
  return module;
}

mlir::FailureOr<std::optional<TargetDescription>> targetOf(mlir::ModuleOp module,
                                                           std::string &reason) {
  const TargetDescription *known = module.getSymName() ? findTarget(*module.getSymName()) : nullptr;
  if (!known) {
    return std::optional<TargetDescription>();
  }
  auto columns = module->getAttrOfType<mlir::IntegerAttr>(panelColumnsName);
  if (!columns) {
    return std::optional(*known);
  }
  auto target = parseTarget(known->name.str() + ":" + std::to_string(columns.getInt()), reason);
  if (failed(target)) {
    return mlir::failure();
  }
  return std::optional(*target);
}

mlir::FailureOr<std::vector<TargetDescription>> findTargets(llvm::ArrayRef<std::string> texts,
                                                            mlir::Location location) {
  std::vector<TargetDescription> targets;
  for (const std::string &text : texts) {
    std::string reason;
    mlir::FailureOr<TargetDescription> target = parseTarget(text, reason);
    if (failed(target)) {
      return mlir::emitError(location) << reason;
    }
    targets.push_back(*target);
  }
  if (targets.empty()) {
    return mlir::emitError(location) << "no target, expected one of " << targetNames();
  }
  return targets;
}

std::string targetNames() {
  return llvm::join(
      llvm::map_range(allTargets(), [](const TargetDescription &t) { return t.name.str(); }), ", ");
}

const TargetDescription *nativeTarget(llvm::ArrayRef<std::string> useful) {
  // The baseline target is always useful.
  llvm::SmallVector<llvm::StringRef> names(llvm::reverse(useful));
  llvm::erase(names, "x86-64-v3");
  names.append({"x86-64-v4", "x86-64-v3"});
  for (const llvm::StringRef name : names) {
    const ProcessorTarget *processor = findProcessorTarget(name);
    if (processor && processor->isPresent()) {
      return findTarget(name);
    }
  }
  return nullptr;
}

} // namespace heddle
