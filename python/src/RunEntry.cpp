// SPDX-License-Identifier: Apache-2.0
///
/// Runs one entry over a batch: flat inputs, and outputs in separate arrays. The rows of a sequence
/// depend on no other sequence, so a large batch runs in parts, between which Ctrl-C is handled.
#include "python/src/Core.h"
#include "python/src/Errors.h"
#include "python/src/Texts.h"

#include "base/Utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <numeric>

namespace nb = nanobind;

namespace heddle::python {

/// The tokens of a part.
static constexpr int64_t partTokens = 16384;

namespace {
/// An input, and the number of values in one of its rows.
struct FlatInput {
  std::string name;
  Ids ids;
  Floats rows;
  bool areIds = false;

  Input part(int64_t first, int64_t count) const {
    if (areIds) {
      return {name, spanOf(ids).subspan(static_cast<size_t>(first), static_cast<size_t>(count))};
    }
    const auto width = rows.shape(1);
    return {name, spanOf(rows).subspan(static_cast<size_t>(first) * width,
                                       static_cast<size_t>(count) * width)};
  }
};

/// An output, its values, and the number of rows written.
struct FlatOutput {
  const PortInfo *port = nullptr;
  std::vector<float> values;
  size_t width = 1;
  size_t written = 0;
};
} // namespace

static std::vector<FlatInput> inputsOf(const nb::dict &given, int64_t tokens) {
  std::vector<FlatInput> inputs;
  for (const auto &[name, value] : given) {
    FlatInput &input = inputs.emplace_back();
    input.name = nb::cast<std::string>(name);
    input.areIds = nb::try_cast(value, input.ids, false);
    if (!input.areIds && !nb::try_cast(value, input.rows, false)) {
      wrongType(fmt::format("input {} is {}, expected ids [tokens] or rows [tokens, width]",
                            quote(input.name), typeName(value)));
    }
    const auto rows = static_cast<int64_t>(input.areIds ? input.ids.shape(0) : input.rows.shape(0));
    if (rows != tokens) {
      invalid(fmt::format("input {} has {} rows, the lengths add up to {}", quote(input.name), rows,
                          tokens));
    }
  }
  return inputs;
}

static std::vector<FlatOutput> outputsOf(const EntryInfo &entry,
                                         const std::vector<std::string> &names,
                                         std::span<const int32_t> lengths) {
  std::vector<FlatOutput> outputs;
  for (const std::string &name : names) {
    const auto port = std::find_if(entry.outputs.begin(), entry.outputs.end(),
                                   [&](const PortInfo &each) { return each.name == name; });
    if (port == entry.outputs.end()) {
      throw Failure(HEDDLE_ERROR(
          NotFound, fmt::format("entry {} has no output {}", quote(entry.name), quote(name))));
    }
    FlatOutput &output = outputs.emplace_back();
    output.port = &*port;
    for (size_t i = 1; i < port->shape.size(); ++i) {
      output.width *= static_cast<size_t>(std::max<int64_t>(port->shape[i], 0));
    }
    output.values.resize(static_cast<size_t>(port->rowsOf(lengths)) * output.width);
  }
  return outputs;
}

/// Runs the sequences of a part, whose first token is `token`.
static Status runPart(Session &session, const EntryInfo &entry, std::span<const int32_t> lengths,
                      int64_t token, int64_t tokens, const std::vector<FlatInput> &inputs,
                      std::vector<FlatOutput> &outputs) {
  std::vector<Input> given;
  for (const FlatInput &input : inputs) {
    given.push_back(input.part(token, tokens));
  }
  std::vector<Output> wanted;
  for (FlatOutput &output : outputs) {
    const size_t count = static_cast<size_t>(output.port->rowsOf(lengths)) * output.width;
    wanted.push_back({output.port->name, std::span(output.values).subspan(output.written, count)});
    output.written += count;
  }
  return session.run(entry.name, lengths, given, wanted);
}

nb::dict Core::run(const std::string &name, const Ids &lengthArray, const nb::dict &given,
                   const std::vector<std::string> &names) const {
  const std::shared_ptr<Loaded> model = loaded();
  const Loaded::Lease session(*model, model->takeSession());
  const EntryInfo *const entry = model->model().findEntry(name);
  if (entry == nullptr) {
    // The session reports the error.
    check(session->run(name, {}, {}, {}));
    return {};
  }
  const std::span<const int32_t> lengths = spanOf(lengthArray);
  if (std::any_of(lengths.begin(), lengths.end(), [](int32_t length) { return length < 0; })) {
    invalid("a length is below 0, expected at least 1");
  }
  const std::vector<FlatInput> inputs =
      inputsOf(given, std::accumulate(lengths.begin(), lengths.end(), int64_t(0)));
  std::vector<FlatOutput> outputs = outputsOf(*entry, names, lengths);
  int64_t token = 0;
  for (size_t first = 0; first < lengths.size(); checkSignals()) {
    const nb::gil_scoped_release unlocked;
    size_t count = 0;
    int64_t tokens = 0;
    while (first + count < lengths.size() &&
           (count == 0 || tokens + lengths[first + count] <= partTokens)) {
      tokens += lengths[first + count++];
    }
    check(runPart(*session, *entry, lengths.subspan(first, count), token, tokens, inputs, outputs));
    first += count;
    token += tokens;
  }
  nb::dict result;
  for (FlatOutput &output : outputs) {
    std::vector<size_t> shape{output.width == 0 ? 0 : output.values.size() / output.width};
    for (size_t i = 1; i < output.port->shape.size(); ++i) {
      shape.push_back(static_cast<size_t>(std::max<int64_t>(output.port->shape[i], 0)));
    }
    result[output.port->name.c_str()] = arrayOf(std::move(output.values), std::move(shape));
  }
  return result;
}

} // namespace heddle::python
