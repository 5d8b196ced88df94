// SPDX-License-Identifier: Apache-2.0
///
/// Compares compiled programs with the interpreter and with themselves.
#include "tests/EndToEnd/RandomPrograms/ProgramCheck.h"

#include "compiler/Target/Target.h"
#include "heddle/Session.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/RandomPrograms/ProgramRun.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cmath>
#include <span>

using namespace mlir;

namespace heddle {

std::string Failure::message() const {
  return fmt::format("with {}{}: {}", passes.name, target.empty() ? "" : " on " + target, text);
}

static EntryInputs inputsOf(const Sequence &sequence, bool isTarget) {
  EntryInputs inputs;
  const std::vector<int32_t> &ids = isTarget ? sequence.target : sequence.ids;
  inputs.rows = static_cast<int64_t>(ids.size());
  inputs.width = imageWidthOf(ids);
  inputs.features = ids;
  inputs.ids = {{"input_ids", ids}, {"source", ids}, {"target", ids}};
  if (!sequence.types.empty()) {
    inputs.ids["token_type_ids"] = sequence.types;
  }
  return inputs;
}

static void addOutputs(func::FuncOp entry, const EntryValues &values, SequenceBounds &bounds) {
  for (const auto &[name, tensor] : values.outputs) {
    bounds[entry.getSymName().str() + "." + name] = tensor;
  }
}

/// Adds the results of both entries of a decoder for a sequence.
static Status addDecoded(const TestProgram &program, const Sequence &sequence,
                         SequenceBounds &bounds) {
  func::FuncOp encode = program.entry("encode"), decode = program.entry("decode");
  HEDDLE_ASSIGN(const EntryValues source,
                Interpreter(encode, program.tensors).run(inputsOf(sequence, false)));
  EntryInputs inputs = inputsOf(sequence, true);
  inputs.memory = source.caches;
  // A position for each row that was appended.
  inputs.memoryRows = static_cast<int64_t>(sequence.ids.size());
  for (auto argument : encode.getArguments()) {
    const auto name =
        encode.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "transformer.name");
    const auto filled = source.caches.find(name ? name.str() : "");
    if (isa<transformer::CacheType>(argument.getType()) && filled != source.caches.end()) {
      inputs.memoryRows = filled->second.shape.front();
    }
  }
  addOutputs(encode, source, bounds);
  HEDDLE_ASSIGN(const EntryValues target, Interpreter(decode, program.tensors).run(inputs));
  addOutputs(decode, target, bounds);
  return {};
}

Result<std::vector<SequenceBounds>> expectedValues(const TestProgram &program) {
  std::vector<SequenceBounds> all;
  for (const Sequence &sequence : program.sequences) {
    SequenceBounds &bounds = all.emplace_back();
    if (program.decodes()) {
      HEDDLE_TRY(addDecoded(program, sequence, bounds));
      continue;
    }
    for (auto entry : (*program.module).getOps<func::FuncOp>()) {
      HEDDLE_ASSIGN(const EntryValues values,
                    Interpreter(entry, program.tensors).run(inputsOf(sequence, false)));
      addOutputs(entry, values, bounds);
    }
  }
  return all;
}

/// Returns the failure for a program that the interpreter cannot run.
static Failure meansNothing(const Status &status, const PassChoice &choice) {
  return {Failure::Kind::Meaning, choice, "", std::string(status.message())};
}

/// Returns the first element out of its bounds; empty if there is none.
static std::string findWrong(const SequenceValues &values, const SequenceBounds &bounds,
                             ProgramCheck::Counts &counts) {
  for (const auto &[name, tensor] : bounds) {
    const auto found = values.find(name);
    if (found == values.end() || found->second.size() != tensor.elements.size()) {
      return fmt::format("\"{}\" has {} elements, expected {}", name,
                         found == values.end() ? 0 : found->second.size(), tensor.elements.size());
    }
    for (size_t i = 0; i < tensor.elements.size(); ++i) {
      const Bounded &element = tensor.elements[i];
      (element.isKnown() ? counts.judged : counts.unknown) += 1;
      counts.sharp += element.isKnown() && element.error <= std::abs(element.value) / 100 ? 1 : 0;
      if (!element.allows(found->second[i])) {
        return fmt::format("element {} of \"{}\", of shape {}, is {}, expected {} within {}", i,
                           name, fmt::join(tensor.shape, "x"), found->second[i], element.value,
                           element.error);
      }
    }
  }
  return {};
}

/// Returns the first output whose bits differ; empty if none does. All NaNs are equal.
static std::string findDifference(const SequenceValues &alone, const SequenceValues &other) {
  for (const auto &[name, values] : alone) {
    const std::vector<float> &others = other.at(name);
    for (size_t i = 0; i < values.size(); ++i) {
      const bool isSame =
          std::bit_cast<uint32_t>(values[i]) == std::bit_cast<uint32_t>(others[i]) ||
          (std::isnan(values[i]) && std::isnan(others[i]));
      if (!isSame) {
        return fmt::format("element {} of \"{}\" is {} alone, {}", i, name, values[i], others[i]);
      }
    }
  }
  return {};
}

namespace {
/// A way to run the same sequences.
struct Way {
  const char *name;
  int threads;
  Schedule schedule;
  Pieces pieces;
};
constexpr Way ways[] = {
    {"on one thread", 1, Schedule::Automatic, Pieces::Random},
    {"on two threads, each with its own sequences", 2, Schedule::Chunked, Pieces::Single},
    {"on two threads that share every dispatch", 2, Schedule::Cooperative, Pieces::Random},
};
} // namespace

/// Runs sequences together in these ways; returns the first difference from their results alone.
static std::optional<Failure> compareWays(const Model &model, const TestProgram &program,
                                          const std::vector<SequenceValues> &alone,
                                          std::span<const Way> ways) {
  Dice dice(1);
  const auto count = static_cast<int64_t>(program.sequences.size());
  for (const Way &way : ways) {
    Result<ProgramRun> run =
        ProgramRun::create(model, program.decodes(), way.threads, way.schedule);
    if (!run.ok()) {
      return Failure{Failure::Kind::Run, {}, "", std::string(run.status().message())};
    }
    for (int64_t trial = 0; trial < 2; ++trial) {
      std::vector<Sequence> batch;
      std::vector<int64_t> which;
      for (int64_t i = 0; i < (trial == 0 ? count : dice.between(1, 7)); ++i) {
        which.push_back(trial == 0 ? i : dice.below(count));
        batch.push_back(program.sequences[static_cast<size_t>(which.back())]);
      }
      Result<std::vector<SequenceValues>> together = run->run(batch, way.pieces, dice);
      if (!together.ok()) {
        return Failure{Failure::Kind::Run, {}, "", std::string(together.status().message())};
      }
      for (size_t i = 0; i < which.size(); ++i) {
        const std::string difference =
            findDifference(alone[static_cast<size_t>(which[i])], (*together)[i]);
        if (!difference.empty()) {
          return Failure{Failure::Kind::Bits,
                         {},
                         "",
                         fmt::format("sequence {}: {} among the sequences {}, {}", which[i],
                                     difference, fmt::join(which, ", "), way.name)};
        }
      }
    }
  }
  return {};
}

std::optional<Failure> ProgramCheck::checkTarget(const ProgramCompiler::Binary &binary,
                                                 const TestProgram &program,
                                                 const std::vector<SequenceBounds> &expected,
                                                 const std::string &target) {
  const auto refused = [](const Status &status) {
    return Failure{Failure::Kind::Run, {}, "", std::string(status.message())};
  };
  Result<Model> model =
      Model::load(binary.path, {.isa = target, .verifyWeights = true, .device = device});
  if (!model.ok()) {
    return refused(model.status());
  }
  Result<ProgramRun> run = ProgramRun::create(*model, program.decodes(), 1, Schedule::Automatic);
  if (!run.ok()) {
    return refused(run.status());
  }
  std::vector<SequenceValues> &alone = results[target];
  Dice dice(2);
  for (size_t i = 0; i < program.sequences.size(); ++i) {
    Result<std::vector<SequenceValues>> values =
        run->run({program.sequences[i]}, Pieces::Whole, dice);
    if (!values.ok()) {
      return refused(values.status());
    }
    alone.push_back(values->front());
    const std::string wrong = findWrong(alone.back(), expected[i], counted);
    if (!wrong.empty()) {
      return Failure{Failure::Kind::Value, {}, "", fmt::format("sequence {}: {}", i, wrong)};
    }
  }
  const auto twin = binary.twins.find(target);
  const auto same = twin == binary.twins.end() ? results.end() : results.find(twin->second);
  if (same == results.end()) {
    // A device other than processors is used by one thread.
    return compareWays(*model, program, alone, device.empty() ? ways : std::span(ways, 1));
  }
  // The other target has shown that the same code gives these results in every way.
  for (size_t i = 0; i < alone.size(); ++i) {
    const std::string difference = findDifference(alone[i], same->second[i]);
    if (!difference.empty()) {
      return Failure{Failure::Kind::Bits,
                     {},
                     "",
                     fmt::format("sequence {}: {} on {}, which has the same code", i, difference,
                                 twin->second)};
    }
  }
  return {};
}

/// Returns the targets that both the compiler and this machine have, or that of another device.
static std::vector<std::string> targetsOf(const std::string &device) {
  if (!device.empty()) {
    return {gpuTarget()};
  }
  std::vector<std::string> own;
  const std::vector<std::string> machine = machineTargets();
  for (const TargetDescription &target : allTargets()) {
    if (std::find(machine.begin(), machine.end(), target.name) != machine.end()) {
      own.push_back(target.name.str());
    }
  }
  return own;
}

ProgramCheck::ProgramCheck(const std::string &folder, std::string device)
    : device(std::move(device)), targets(targetsOf(this->device)), compiler(folder, targets) {}

std::vector<PassChoice> ProgramCheck::choices() const {
  std::vector<PassChoice> all = passChoices();
  // All passes, and none.
  constexpr size_t few = 2;
  all.resize(device.empty() ? all.size() : few);
  return all;
}

std::optional<Failure> ProgramCheck::run(const TestProgram &program,
                                         const std::vector<PassChoice> &choices,
                                         const std::vector<std::string> &onTargets,
                                         const Corruption &corruption) {
  compiler.clear();
  const Result<std::vector<SequenceBounds>> expected = expectedValues(program);
  if (!expected.ok()) {
    return meansNothing(expected.status(), choices.front());
  }
  for (const PassChoice &choice : choices) {
    Result<std::optional<ProgramCompiler::Binary>> binary =
        compiler.compile(program, choice, corruption);
    if (!binary.ok()) {
      return Failure{Failure::Kind::Compile, choice, "", std::string(binary.status().message())};
    }
    if (!*binary) {
      continue;
    }
    ++counted.binaries;
    results.clear();
    for (const std::string &target : onTargets.empty() ? targets : onTargets) {
      std::optional<Failure> failure = checkTarget(**binary, program, *expected, target);
      if (failure) {
        failure->passes = choice;
        failure->target = target;
        return failure;
      }
    }
  }
  return {};
}

/// A pass may round more often than the program does, within limits.
static constexpr double mostLoss = 16;
/// For subnormal numbers, each product of a sum may lose digits that one factor of their sum does
/// not lose.
static const double mostLost = 256 * underflow;

/// Returns the first element of a program after passes that may be out of its bounds; empty if
/// there is none. `coarse` are the bounds of the program if it rounded as often as passes may: for
/// large numbers they are not proportional, because a softmax exponentiates errors of scores, and
/// which of two probabilities dominates is uncertain: twice the bound is allowed.
static std::string findChange(const SequenceBounds &before, const SequenceBounds &coarse,
                              const SequenceBounds &after) {
  for (const auto &[name, tensor] : before) {
    const auto found = after.find(name);
    if (found == after.end() || found->second.shape != tensor.shape) {
      return fmt::format("\"{}\" is gone", name);
    }
    for (size_t i = 0; i < tensor.elements.size(); ++i) {
      const Bounded &was = tensor.elements[i];
      const Bounded &is = found->second.elements[i];
      // If anything may result, there is no value to compare: the error is infinite.
      const double away = is.isKnown() ? std::abs(is.value - was.value) : 0;
      const double allowed =
          std::max(mostLoss * was.error, 2 * coarse.at(name).elements[i].error) + mostLost;
      if (was.isKnown() && !(away <= was.error && is.error <= allowed)) {
        return fmt::format("element {} of \"{}\", of shape {}, becomes {} within {}, expected {} "
                           "within {}",
                           i, name, fmt::join(tensor.shape, "x"), is.value, is.error, was.value,
                           was.error);
      }
    }
  }
  return {};
}

std::optional<Failure> ProgramCheck::runFused(const TestProgram &program,
                                              const std::vector<PassChoice> &choices,
                                              const Corruption &corruption) {
  const Result<std::vector<SequenceBounds>> before = expectedValues(program);
  if (!before.ok()) {
    return meansNothing(before.status(), choices.front());
  }
  const Result<std::vector<SequenceBounds>> coarse = [&] {
    const CoarserRounding rounding(mostLoss);
    return expectedValues(program);
  }();
  std::set<std::string> seen;
  for (const PassChoice &choice : choices) {
    Result<OwningOpRef<ModuleOp>> fused = compiler.fuse(program, choice, corruption);
    if (!fused.ok()) {
      return Failure{Failure::Kind::Compile, choice, "", std::string(fused.status().message())};
    }
    if (!seen.insert(printed(**fused)).second) {
      continue;
    }
    const TestProgram after{*std::move(fused), program.tensors, program.sequences, {}};
    const Result<std::vector<SequenceBounds>> values = expectedValues(after);
    if (!values.ok()) {
      return meansNothing(values.status(), choice);
    }
    for (size_t i = 0; i < before->size(); ++i) {
      const std::string change = findChange((*before)[i], (*coarse)[i], (*values)[i]);
      if (!change.empty()) {
        return Failure{Failure::Kind::Value, choice, "", fmt::format("sequence {}: {}", i, change)};
      }
    }
  }
  return {};
}

} // namespace heddle
