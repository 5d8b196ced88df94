// SPDX-License-Identifier: Apache-2.0
///
/// Parser, printer and verifier of the scalar expression of a score: `tanh(s0), multiply(s1, 50)`.
#include "dialects/Transformer/Transformer.h"

#include "mlir/IR/DialectImplementation.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace heddle::transformer;

static StringRef nameOf(const ScoreStep &step) {
  switch (step.kind) {
  case ScoreStep::Kind::Add:
    return "add";
  case ScoreStep::Kind::Multiply:
    return "multiply";
  case ScoreStep::Kind::Activate:
    return stringifyActivation(step.activation);
  }
  llvm_unreachable("every step has a name");
}

static SmallVector<ScoreTerm, 2> termsOf(const ScoreStep &step) {
  return step.kind == ScoreStep::Kind::Activate ? SmallVector<ScoreTerm, 2>{step.left}
                                                : SmallVector<ScoreTerm, 2>{step.left, step.right};
}

/// Prints all steps; `number` prints a constant.
static void write(raw_ostream &stream, ArrayRef<ScoreStep> steps,
                  function_ref<void(float)> number) {
  llvm::ListSeparator next;
  for (const ScoreStep &step : steps) {
    stream << next << nameOf(step) << '(';
    llvm::ListSeparator comma;
    for (const ScoreTerm &term : termsOf(step)) {
      stream << comma;
      switch (term.kind) {
      case ScoreTerm::Kind::Value:
        stream << 's' << term.value;
        break;
      case ScoreTerm::Kind::Constant:
        number(term.constant);
        break;
      case ScoreTerm::Kind::Bias:
        stream << "bias";
        break;
      }
    }
    stream << ')';
  }
}

std::string ScoreAttr::text() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  write(stream, getSteps(), [&](float number) { stream << llvm::format("%g", number); });
  return text;
}

void ScoreAttr::print(AsmPrinter &printer) const {
  printer << '<';
  write(printer.getStream(), getSteps(),
        [&](float number) { printer.printFloat(APFloat(number)); });
  printer << '>';
}

bool ScoreAttr::takesBias() const {
  return llvm::any_of(getSteps(), [](const ScoreStep &step) {
    return llvm::any_of(termsOf(step),
                        [](const ScoreTerm &term) { return term.kind == ScoreTerm::Kind::Bias; });
  });
}

/// Parses `s1`, `bias` or a constant.
static ParseResult parseTerm(AsmParser &parser, ScoreTerm &term) {
  llvm::SMLoc place = parser.getCurrentLocation();
  StringRef word;
  if (succeeded(parser.parseOptionalKeyword(&word))) {
    if (word == "bias") {
      term = ScoreTerm::ofBias();
      return success();
    }
    term = ScoreTerm::ofValue(0);
    if (word.consume_front("s") && !word.getAsInteger(10, term.value)) {
      return success();
    }
    return parser.emitError(place, "expected a number of the score, such as 's0', 'bias' or a "
                                   "constant");
  }
  double constant = 0;
  if (parser.parseFloat(constant)) {
    return failure();
  }
  term = ScoreTerm::ofConstant(static_cast<float>(constant));
  return success();
}

static ParseResult parseStep(AsmParser &parser, SmallVectorImpl<ScoreStep> &steps) {
  llvm::SMLoc place = parser.getCurrentLocation();
  StringRef word;
  ScoreStep step;
  if (parser.parseKeyword(&word)) {
    return failure();
  }
  std::optional<Activation> activation = symbolizeActivation(word);
  if (activation) {
    step = ScoreStep::activate(*activation, {});
  } else if (word == "add" || word == "multiply") {
    step.kind = word == "add" ? ScoreStep::Kind::Add : ScoreStep::Kind::Multiply;
  } else {
    return parser.emitError(place, "expected 'add', 'multiply' or an activation, got '")
           << word << "'";
  }
  if (parser.parseLParen() || parseTerm(parser, step.left) ||
      (!activation && (parser.parseComma() || parseTerm(parser, step.right))) ||
      parser.parseRParen()) {
    return failure();
  }
  steps.push_back(step);
  return success();
}

Attribute ScoreAttr::parse(AsmParser &parser, Type) {
  llvm::SMLoc place = parser.getCurrentLocation();
  SmallVector<ScoreStep> steps;
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList([&] { return parseStep(parser, steps); }) ||
      parser.parseGreater()) {
    return {};
  }
  return parser.getChecked<ScoreAttr>(place, parser.getContext(), ArrayRef<ScoreStep>(steps));
}

LogicalResult ScoreAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<ScoreStep> steps) {
  // C1
  if (steps.empty() || steps.size() > mostSteps) {
    return emitError() << "expects 1 to " << mostSteps << " steps of a score, got " << steps.size();
  }
  // C2
  for (auto [before, step] : llvm::enumerate(steps)) {
    for (const ScoreTerm &term : termsOf(step)) {
      if (term.value < 0 || term.value > static_cast<int64_t>(before)) {
        return emitError() << "expects step " << before + 1 << " of a score to take s0 to s"
                           << before << ", got s" << term.value;
      }
      if (!std::isfinite(term.constant)) {
        return emitError() << "expects finite constants of a score, got " << term.constant
                           << " in step " << before + 1;
      }
    }
  }
  return success();
}
