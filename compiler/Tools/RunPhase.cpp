// SPDX-License-Identifier: Apache-2.0
///
/// A pass emits errors without knowing who runs it. Here is known which option it is there for.
#include "compiler/Tools/RunPhase.h"

#include "compiler/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace heddle {
namespace {

/// The option that asks for a pass; empty if none does.
StringRef optionOf(Pass *pass) {
  return pass->getArgument() == "transformer-apply-sharing" ? "--share-attention" : "";
}

/// Keeps, in a string that outlives the run, the option of the pass that runs.
class OptionWatch final : public PassInstrumentation {
public:
  explicit OptionWatch(StringRef &option) : option(option) {}

  void runBeforePass(Pass *pass, Operation *) override { option = optionOf(pass); }
  void runAfterPass(Pass *, Operation *) override { option = ""; }
  void runAfterPassFailed(Pass *, Operation *) override { option = ""; }

private:
  StringRef &option;
};

} // namespace

Status runPhase(ModuleOp module, Phase phase, const CompileOptions &options, SourceText source) {
  PassManager manager(module.getContext());
  buildPhase(manager, phase, options);
  StringRef option;
  manager.addInstrumentation(std::make_unique<OptionWatch>(option));
  DiagnosticText diagnostics(module.getContext(), std::move(source));
  std::string aboutOption;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    const bool isKept = !option.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error;
    if (isKept && aboutOption.empty()) {
      aboutOption = (option + ": " + diagnostic.str()).str();
    }
    // Others are kept with their places.
    return success(isKept);
  });
  if (succeeded(manager.run(module))) {
    return {};
  }
  return aboutOption.empty() ? diagnostics.status("the program could not be taken to the phase '" +
                                                  phaseName(phase).str() + "'")
                             : HEDDLE_ERROR(InvalidArgument, aboutOption);
}

} // namespace heddle
