// SPDX-License-Identifier: Apache-2.0
///
/// heddle run: the tensors of one file through one entry into another file.
#include "frontend/Checkpoint/Safetensors.h"
#include "runtime/Base/Utf8.h"
#include "runtime/Tools/Commands.h"
#include "runtime/Tools/RunTensors.h"

#include <cstdio>
#include <fmt/format.h>
#include <span>
#include <vector>

namespace heddle::tools {

/// The outputs of one run as the file will have them. `where` the inputs are begins every message.
static Result<std::vector<std::vector<float>>> runEntry(Session &session, const EntryInfo &entry,
                                                        const RunInputs &inputs,
                                                        std::string_view where) {
  std::vector<Input> given;
  for (size_t input = 0; input < inputs.names.size(); ++input) {
    given.push_back({inputs.names[input], inputs.values[input]});
  }
  std::vector<std::vector<float>> values;
  for (const PortInfo &output : entry.outputs) {
    const bool perToken = output.shape.front() == tokensDimension;
    const int64_t rows = perToken ? inputs.batch.tokens() : inputs.batch.sequences();
    values.emplace_back(static_cast<size_t>(rows * rowWidth(output)));
  }
  std::vector<Output> wanted;
  for (size_t output = 0; output < values.size(); ++output) {
    wanted.push_back({entry.outputs[output].name, values[output]});
  }
  HEDDLE_TRY_WITH(session.run(entry.name, inputs.batch.lengths, given, wanted), where);
  for (size_t output = 0; output < values.size(); ++output) {
    const PortInfo &port = entry.outputs[output];
    if (port.shape.front() == tokensDimension && inputs.batch.rectangular) {
      values[output] = inputs.batch.scatter(values[output], rowWidth(port));
    }
  }
  return values;
}

Status execute(const RunOptions &options) {
  HEDDLE_ASSIGN(const Model model, Model::load(options.model, {.isa = options.isa}));
  HEDDLE_ASSIGN(const EntryInfo *entry, chooseEntry(model, options.entry));
  HEDDLE_ASSIGN(const PortInfo *shaping, chooseInput(model, *entry));
  HEDDLE_ASSIGN(const SafetensorsFile file, SafetensorsFile::open(options.inputs));
  HEDDLE_ASSIGN(const RunInputs inputs,
                readRunInputs(*entry, *shaping, file.tensors(), options.inputs));
  for (const std::string &name : inputs.ignored) {
    // Not in silence: it may be a misspelt mask.
    fmt::print(stderr, "heddle: note: tensor {} is no input of entry \"{}\": ignored\n",
               quote(name), entry->name);
  }
  HEDDLE_ASSIGN(Session session, Session::create(model, {.threads = options.threads}));
  HEDDLE_ASSIGN(const std::vector<std::vector<float>> values,
                runEntry(session, *entry, inputs, options.inputs));
  std::vector<SafetensorsTensor> tensors;
  for (size_t output = 0; output < values.size(); ++output) {
    const PortInfo &port = entry->outputs[output];
    tensors.push_back({port.name, Dtype::F32, outputShape(port, inputs.batch),
                       std::as_bytes(std::span(values[output]))});
  }
  return writeSafetensors(options.outputs, tensors);
}

} // namespace heddle::tools
