// SPDX-License-Identifier: Apache-2.0
///
/// Arbitrary bytes as a program in text: bounded, parsed, checked like the importer's, and taken
/// through the passes to the phase `fused`. Each step succeeds or reports errors, and its result
/// verifies. MLIR is not instrumented, so inputs are judged by the messages about them: every kind
/// of error, decision of a pass and operation of the result counts as coverage once.
#include "compiler/Pipeline.h"
#include "compiler/Remarks/Report.h"
#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Transformer/Transformer.h"
#include "frontend/Import/ProgramCheck.h"
#include "frontend/Import/TextCheck.h"
#include "tests/Fuzzing/TextMutation.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <memory>

using namespace heddle;
using namespace mlir;
using fuzzing::require;

/// A context never frees attributes, so it is replaced regularly to bound the memory.
static MLIRContext &freshContext() {
  constexpr size_t runs = 500;
  static std::unique_ptr<MLIRContext> context;
  static size_t count = 0;
  if (count++ % runs == 0) {
    context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
    registerDialects(*context);
    context->loadDialect<func::FuncDialect, transformer::TransformerDialect,
                         dataflow::DataflowDialect>();
  }
  return *context;
}

/// Returns the names of all operations, and words of their attributes.
static const std::vector<std::string> &words() {
  static const std::vector<std::string> list = [] {
    std::vector<std::string> names = {"tensor<?x8xf32>",
                                      "tensor<8xf32>",
                                      "tensor<?xi32>",
                                      "f32",
                                      "i32",
                                      "0x7FC00000",
                                      "1.0e+38",
                                      "-0.0",
                                      "dense<1.0> : tensor<8xf32>"};
    static MLIRContext context(MLIRContext::Threading::DISABLED);
    context.loadDialect<func::FuncDialect, transformer::TransformerDialect>();
    for (const RegisteredOperationName name : context.getRegisteredOperations()) {
      names.push_back(name.getStringRef().str());
    }
    return names;
  }();
  return list;
}

/// Extra coverage counters of libFuzzer.
__attribute__((section("__libfuzzer_extra_counters"))) static uint8_t seen[8192];

/// Counts a text as coverage, regardless of the numbers and names in it.
static void note(StringRef kind, StringRef text) {
  uint32_t hash = 2166136261U;
  const auto add = [&](char c) { hash = (hash ^ static_cast<uint8_t>(c)) * 16777619U; };
  llvm::for_each(kind, add);
  char quote = '\0';
  for (const char c : text) {
    if (quote != '\0') {
      quote = c == quote ? '\0' : quote;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (!llvm::isDigit(c)) {
      add(c);
    }
  }
  seen[hash % sizeof seen] = 1;
}

/// Returns an earlier value of this type in the block of `operation`, or an argument of the block;
/// null if there is none.
static Value earlierValue(Operation *operation, Type type, fuzzing::Choice &choice) {
  SmallVector<Value> values;
  const auto add = [&](Value value) {
    if (value.getType() == type) {
      values.push_back(value);
    }
  };
  llvm::for_each(operation->getBlock()->getArguments(), add);
  for (Operation &each : *operation->getBlock()) {
    if (&each == operation) {
      break;
    }
    llvm::for_each(each.getResults(), add);
  }
  return values.empty() ? Value() : choice.of(values);
}

/// Returns another number, or the attribute of another operation with the same name.
static Attribute otherAttribute(NamedAttribute present, ArrayRef<Operation *> operations,
                                fuzzing::Choice &choice) {
  static constexpr double numbers[] = {0.0,   -0.0,  1.0,  -1.0,     1e38,
                                       -1e38, 1e-40, 3e-8, INFINITY, NAN};
  if (auto integer = dyn_cast<IntegerAttr>(present.getValue()); integer && choice.oneIn(2)) {
    const uint64_t value = integer.getValue().getLimitedValue();
    const unsigned width = integer.getValue().getBitWidth();
    return IntegerAttr::get(
        integer.getType(),
        APInt(64, fuzzing::unusualNumber(value, value, choice)).zextOrTrunc(width));
  }
  if (auto number = dyn_cast<FloatAttr>(present.getValue())) {
    return FloatAttr::get(number.getType(), choice.of(numbers));
  }
  for (int attempt = 0; attempt < 16; ++attempt) {
    if (const Attribute other = choice.of(operations)->getAttr(present.getName())) {
      return other;
    }
  }
  return present.getValue();
}

/// Changes one operation: an operand, an attribute, or the number of copies. The result is mostly
/// well-formed, so that it reaches the verifiers and passes.
static void changeOperation(Operation *operation, ArrayRef<Operation *> operations,
                            fuzzing::Choice &choice) {
  const ArrayRef<NamedAttribute> attributes = operation->getAttrs();
  const size_t kind = choice.below(8);
  if (kind < 3 && operation->getNumOperands() > 0) {
    const auto index = static_cast<unsigned>(choice.below(operation->getNumOperands()));
    if (Value value = earlierValue(operation, operation->getOperand(index).getType(), choice)) {
      operation->setOperand(index, value);
    }
  } else if (kind < 5 && !attributes.empty()) {
    const NamedAttribute attribute = choice.of(attributes);
    operation->setAttr(attribute.getName(), otherAttribute(attribute, operations, choice));
  } else if (kind == 5 && operation->getNumResults() > 0) {
    Operation *const twin = operation->clone();
    operation->getBlock()->getOperations().insertAfter(Block::iterator(operation), twin);
    for (OpOperand &use : llvm::make_early_inc_range(operation->getResult(0).getUses())) {
      if (choice.oneIn(2)) {
        use.set(twin->getResult(0));
      }
    }
  } else if (operation->getNumResults() == 1) {
    if (Value value = earlierValue(operation, operation->getResult(0).getType(), choice)) {
      operation->getResult(0).replaceAllUsesWith(value);
      operation->erase();
    }
  }
}

/// Mutates the text as a program; returns false if it is not one or cannot be changed.
static bool mutateOperations(std::string &text, fuzzing::Choice &choice) {
  if (!checkProgramText(text, "program.mlir").ok()) {
    return false;
  }
  MLIRContext &context = freshContext();
  ScopedDiagnosticHandler silent(&context, [](Diagnostic &) {});
  auto module = parseSourceString<ModuleOp>(text, &context);
  SmallVector<Operation *> operations;
  if (module) {
    ModuleOp(*module).walk([&](Operation *operation) {
      if (!isa<ModuleOp, func::FuncOp>(operation) && operation->getBlock() != nullptr) {
        operations.push_back(operation);
      }
    });
  }
  if (operations.empty()) {
    return false;
  }
  changeOperation(choice.of(operations), operations, choice);
  text.clear();
  llvm::raw_string_ostream stream(text);
  ModuleOp(*module).print(stream);
  return true;
}

static void mutateProgram(std::string &text, fuzzing::Choice &choice) {
  if (choice.oneIn(3) || !mutateOperations(text, choice)) {
    fuzzing::mutateText(text, words(), choice);
  }
}

HEDDLE_FUZZ_MUTATION(mutateProgram)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  MLIRContext &context = freshContext();
  // Errors have a message; warnings do not count.
  bool hasError = false;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    note("error", diagnostic.str());
    hasError |= diagnostic.getSeverity() == DiagnosticSeverity::Error && !diagnostic.str().empty();
  });
  // The parser needs a terminating zero, and the importer gives it one.
  const std::string text(reinterpret_cast<const char *>(data), size);
  if (const Status status = checkProgramText(text, "program.mlir"); !status.ok()) {
    require(!status.message().empty());
    return 0;
  }
  const auto module = parseSourceString<ModuleOp>(text, &context, "program.mlir");
  if (!module) {
    require(hasError);
    return 0;
  }
  if (failed(verifyOneModule(*module))) {
    require(hasError);
    return 0;
  }
  // heddle-opt also runs passes on programs that the importer rejects for other reasons.
  if (failed(verifyNesting(*module)) || failed(verifyNames(*module)) ||
      (hasFunctionEntries(*module) && failed(verifyEntries(*module)))) {
    require(hasError);
  }
  (void)isFirstPhase(*module);
  (void)countPositions(*module);
  hasError = false;
  const Report report(context);
  PassManager manager(&context);
  buildPhase(manager, Phase::Fused, {});
  if (failed(manager.run(*module))) {
    require(hasError);
    return 0;
  }
  require(succeeded(verify(*module)));
  for (const Report::Entry &entry : report.entries()) {
    note(entry.pass, entry.text);
  }
  size_t operations = 0;
  ModuleOp(*module).walk([&](Operation *operation) {
    note("operation", operation->getName().getStringRef());
    ++operations;
  });
  note("size", std::string(llvm::Log2_64_Ceil(operations + 1), '+'));
  return 0;
}
