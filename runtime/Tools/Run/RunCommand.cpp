// SPDX-License-Identifier: Apache-2.0
///
/// Runs the tensors of one file through one entry, or through encoder and decoder, and writes the
/// outputs to another file.
#include "runtime/Tools/Run/RunCommand.h"

#include "base/Utf8.h"
#include "formats/Checkpoint/Safetensors.h"
#include "runtime/Tools/Models/ModelEntries.h"
#include "runtime/Tools/Run/RunDecoder.h"
#include "runtime/Tools/Run/RunTensors.h"

#include <cstdio>
#include <fmt/format.h>
#include <span>
#include <vector>

namespace heddle::tools {

void declare(OptionList &list, RunOptions &options) {
  declareModel(list, options);
  list.text("--entry", options.entry, "NAME", "The function of the model to run")
      .otherwise("the first; encode and decode where a model generates");
  list.file("--inputs", options.inputs,
            "safetensors with the inputs, named as 'heddle info' lists them (input_ids; of a model "
            "that generates, source and target): [B,S] and, where there is padding, "
            "attention_mask [B,S]; or, of one entry, [tokens] and lengths [sequences]; rows of "
            "floats have their width as one dimension more")
      .required()
      .hinted();
  list.file("--outputs", options.outputs, "safetensors with all outputs of the entry, by name")
      .required()
      .hinted();
  declareExecution(list, options);
}

/// The outputs of one run as the file will have them. `where` the inputs are begins every message.
static Result<std::vector<std::vector<float>>> runEntry(Session &session, const EntryInfo &entry,
                                                        const RunInputs &inputs,
                                                        std::string_view where) {
  std::vector<Input> given;
  for (const RunInput &input : inputs.inputs) {
    given.push_back(input.values());
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

/// One entry over its tensors.
static Result<RunOutputs> runOneEntry(const Model &model, const RunOptions &options,
                                      std::span<const SafetensorsTensor> tensors) {
  HEDDLE_ASSIGN(const EntryInfo *entry, chooseNamedEntry(model, options.entry));
  HEDDLE_ASSIGN(const PortInfo *shaping, chooseInput(model, *entry));
  HEDDLE_ASSIGN(const RunInputs inputs, readRunInputs(*entry, *shaping, tensors, options.inputs));
  for (const RunInput &input : inputs.inputs) {
    if (!input.rows.empty() && input.stored != ElementType::F32) {
      const std::string note =
          fmt::format("heddle: note: tensor {} is converted from {} to {}\n", quote(input.name),
                      infoOf(input.stored).name, infoOf(ElementType::F32).name);
      std::fputs(note.c_str(), stderr);
    }
  }
  HEDDLE_ASSIGN(Session session, Session::create(model, {.threads = options.threads}));
  HEDDLE_ASSIGN(std::vector<std::vector<float>> values,
                runEntry(session, *entry, inputs, options.inputs));
  RunOutputs result;
  result.ignored = inputs.ignored;
  for (size_t output = 0; output < values.size(); ++output) {
    const PortInfo &port = entry->outputs[output];
    result.outputs.push_back(
        {port.name, outputShape(port, inputs.batch), std::move(values[output])});
  }
  return result;
}

Status execute(const RunOptions &options) {
  HEDDLE_ASSIGN(const Model model, loadModel(options.model, options.isa));
  HEDDLE_ASSIGN(const SafetensorsFile file, SafetensorsFile::open(options.inputs));
  const bool decodes = options.entry.empty() && isDecoderModel(model);
  HEDDLE_ASSIGN(const RunOutputs result, decodes ? runDecoder(model, {.threads = options.threads},
                                                              file.tensors(), options.inputs)
                                                 : runOneEntry(model, options, file.tensors()));
  for (const std::string &name : result.ignored) {
    // Not in silence: it may be a misspelt mask.
    const EntryInfo &first =
        decodes ? *model.findEntry("decode") : **chooseEntry(model, options.entry);
    const std::string note =
        fmt::format("heddle: note: tensor {} is no input of entry {}\"{}\": ignored\n", quote(name),
                    decodes ? "\"encode\" or " : "", first.name);
    std::fputs(note.c_str(), stderr);
  }
  std::vector<SafetensorsTensor> tensors;
  for (const RunOutput &output : result.outputs) {
    tensors.push_back(
        {output.name, ElementType::F32, output.shape, std::as_bytes(std::span(output.values))});
  }
  return writeSafetensors(options.outputs, tensors);
}

} // namespace heddle::tools
