// SPDX-License-Identifier: Apache-2.0
///
/// Implements heddle.h with Session.h.
#include "runtime/Session/CInterface.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace heddle {

/// The error that is returned if no error can be allocated. Never freed; created before any call.
static heddle_error outOfMemory{
    Status(StatusCode::ResourceExhausted, "out of memory", __FILE_NAME__, __LINE__),
    "out of memory"};

heddle_error *outOfMemoryError() { return &outOfMemory; }

Status missingPointer(const char *name) {
  return HEDDLE_ERROR(InvalidArgument, fmt::format("{} is NULL", name));
}

static Status negative(const char *name, int64_t value) {
  return HEDDLE_ERROR(InvalidArgument, fmt::format("{} is {}, expected at least 0", name, value));
}

Status checkArray(const char *name, const void *values, const char *countName, int64_t count) {
  if (count < 0) {
    return negative(countName, count);
  }
  if (values == nullptr && count > 0) {
    return missingPointer(name);
  }
  return {};
}

static const EntryInfo *entryAt(const heddle_model *model, int64_t index) {
  if (model == nullptr || index < 0 ||
      static_cast<uint64_t>(index) >= model->model.entries().size()) {
    return nullptr;
  }
  return &model->model.entries()[static_cast<size_t>(index)];
}

static const std::vector<PortInfo> &portsOf(const EntryInfo &entry, int32_t direction) {
  return direction == HEDDLE_OUTPUT ? entry.outputs : entry.inputs;
}

static Status runSession(heddle_session *session, const char *entry, const SequenceSizes &sequences,
                         std::span<const heddle_input> inputs,
                         std::span<const heddle_output> outputs) {
  std::vector<Input> inputList;
  for (const heddle_input &input : inputs) {
    if (input.name == nullptr) {
      return missingPointer("the name of an input");
    }
    if (input.values != nullptr && input.floats != nullptr) {
      return HEDDLE_ERROR(InvalidArgument,
                          fmt::format("input \"{}\": values and floats are given, expected one of "
                                      "them",
                                      input.name));
    }
    const void *const given = input.floats != nullptr ? static_cast<const void *>(input.floats)
                                                      : static_cast<const void *>(input.values);
    HEDDLE_TRY_WITH(checkArray("values", given, "count", input.count),
                    fmt::format("input \"{}\"", input.name));
    const auto count = static_cast<size_t>(input.count);
    inputList.push_back(input.floats != nullptr
                            ? Input(input.name, std::span(input.floats, count))
                            : Input(input.name, std::span(input.values, count)));
  }
  std::vector<Output> outputList;
  for (const heddle_output &output : outputs) {
    if (output.name == nullptr) {
      return missingPointer("the name of an output");
    }
    HEDDLE_TRY_WITH(checkArray("values", output.values, "count", output.count),
                    fmt::format("output \"{}\"", output.name));
    outputList.push_back({output.name, {output.values, static_cast<size_t>(output.count)}});
  }
  return session->session.run(entry, sequences.lengths, inputList, outputList, sequences.widths);
}

} // namespace heddle

using namespace heddle;

int32_t heddle_error_code(const heddle_error *error) {
  return error == nullptr ? HEDDLE_STATUS_Ok : static_cast<int32_t>(error->status.code());
}

const char *heddle_error_message(const heddle_error *error) {
  return error == nullptr ? "" : error->message.c_str();
}

void heddle_error_free(heddle_error *error) {
  if (error != outOfMemoryError()) {
    delete error;
  }
}

heddle_error *heddle_model_load(const char *path, const heddle_model_options *options,
                                heddle_model **model) {
  return guarded([&]() -> Status {
    if (path == nullptr || model == nullptr) {
      return missingPointer(path == nullptr ? "path" : "model");
    }
    const heddle_model_options given = optionsOr(options, HEDDLE_MODEL_OPTIONS_INIT);
    ModelOptions wanted;
    wanted.isa = given.isa == nullptr ? "" : given.isa;
    wanted.verifyWeights = given.verify_weights != 0;
    wanted.device = given.device == nullptr ? "" : given.device;
    HEDDLE_ASSIGN(Model loaded, Model::load(path, wanted));
    *model = new heddle_model{std::move(loaded)};
    return {};
  });
}

void heddle_model_free(heddle_model *model) { delete model; }

const char *heddle_model_isa(const heddle_model *model) {
  // These are views of zero-terminated strings that live as long as the model.
  return model == nullptr ? nullptr : model->model.isa().data();
}

const char *heddle_model_device(const heddle_model *model) {
  return model == nullptr ? nullptr : model->model.device().data();
}

const char *heddle_model_precision(const heddle_model *model) {
  return model == nullptr ? nullptr : model->model.precision().data();
}

const char *heddle_model_cache_precision(const heddle_model *model) {
  return model == nullptr ? nullptr : model->model.cachePrecision().data();
}

int64_t heddle_model_kept_count(const heddle_model *model) {
  return model == nullptr ? 0 : static_cast<int64_t>(model->model.keptLayers().size());
}

heddle_error *heddle_model_kept(const heddle_model *model, int64_t index,
                                heddle_kept_layers *kept) {
  return guarded([&]() -> Status {
    if (model == nullptr || kept == nullptr) {
      return missingPointer(model == nullptr ? "model" : "kept");
    }
    const int64_t count = heddle_model_kept_count(model);
    if (index < 0 || index >= count) {
      return HEDDLE_ERROR(OutOfRange, fmt::format("kept layers {}, there are {}", index, count));
    }
    const KeptLayersInfo &info = model->model.keptLayers()[static_cast<size_t>(index)];
    *kept = {info.layers.c_str(), info.precision.c_str(), info.tensors, info.bytes};
    return {};
  });
}

int64_t heddle_model_entry_count(const heddle_model *model) {
  return model == nullptr ? 0 : static_cast<int64_t>(model->model.entries().size());
}

const char *heddle_model_entry_name(const heddle_model *model, int64_t entry) {
  const EntryInfo *const info = entryAt(model, entry);
  return info == nullptr ? nullptr : info->name.c_str();
}

int64_t heddle_model_entry_max_length(const heddle_model *model, int64_t entry) {
  const EntryInfo *const info = entryAt(model, entry);
  return info == nullptr ? 0 : info->maxLength;
}

int64_t heddle_model_entry_image_width(const heddle_model *model, int64_t entry) {
  const EntryInfo *const info = entryAt(model, entry);
  return info == nullptr || (info->lengthMultiple == 1 && !info->hasWidths) ? 1
         : info->hasWidths                                                  ? 0
                                                                            : info->lengthMultiple;
}

int64_t heddle_model_port_count(const heddle_model *model, int64_t entry, int32_t direction) {
  const EntryInfo *const info = entryAt(model, entry);
  return info == nullptr ? 0 : static_cast<int64_t>(portsOf(*info, direction).size());
}

static_assert(HEDDLE_TOKENS == tokensDimension && HEDDLE_SEQUENCES == sequencesDimension &&
                  HEDDLE_LONGEST == longestDimension,
              "heddle_dimension has the numbers of RowDimension");

int64_t heddle_dimension_rows(int64_t dimension, int64_t tokens) {
  const std::optional<RowSpace> space = rowSpaceOf(dimension);
  return space && tokens > 0 ? space->rowsOf(tokens) : 0;
}

int64_t heddle_dimension_rows_of_image(int64_t dimension, int64_t tokens, int64_t width) {
  const std::optional<RowSpace> space = rowSpaceOf(dimension);
  return space && tokens > 0 && width > 0 ? space->rowsOf(tokens, width) : 0;
}

heddle_error *heddle_model_port(const heddle_model *model, int64_t entry, int32_t direction,
                                int64_t index, heddle_port *port) {
  return guarded([&]() -> Status {
    if (model == nullptr || port == nullptr) {
      return missingPointer(model == nullptr ? "model" : "port");
    }
    const int64_t count = heddle_model_port_count(model, entry, direction);
    if (index < 0 || index >= count) {
      return HEDDLE_ERROR(OutOfRange, fmt::format("{} {} of entry {}, there are {}",
                                                  direction == HEDDLE_OUTPUT ? "output" : "input",
                                                  index, entry, count));
    }
    const PortInfo &info = portsOf(*entryAt(model, entry), direction)[static_cast<size_t>(index)];
    *port = {info.name.c_str(), static_cast<int32_t>(info.element),      info.optional,
             info.shape.data(), static_cast<int64_t>(info.shape.size()), info.limit};
    return {};
  });
}

int32_t heddle_model_has_tokenizer(const heddle_model *model) {
  return model != nullptr && model->model.hasTokenizer();
}

heddle_error *heddle_model_chat_prompt(const heddle_model *model, const char *conversation,
                                       const char *template_name, char *text, size_t capacity,
                                       size_t *length) {
  return guarded([&]() -> Status {
    if (model == nullptr || conversation == nullptr || length == nullptr) {
      return missingPointer(model == nullptr          ? "model"
                            : conversation == nullptr ? "conversation"
                                                      : "length");
    }
    if (text == nullptr && capacity > 0) {
      return missingPointer("text");
    }
    HEDDLE_ASSIGN(
        const std::string prompt,
        model->model.chatPrompt(conversation, template_name == nullptr ? "" : template_name));
    *length = prompt.size();
    if (capacity <= prompt.size()) {
      return HEDDLE_ERROR(OutOfRange, fmt::format("room for {} bytes, the prompt has {} and a zero",
                                                  capacity, prompt.size()));
    }
    std::memcpy(text, prompt.c_str(), prompt.size() + 1);
    return {};
  });
}

heddle_error *heddle_model_tokenize(const heddle_model *model, const char *text, size_t length,
                                    int32_t *ids, int64_t capacity, int64_t *count) {
  return guarded([&]() -> Status {
    if (model == nullptr || count == nullptr) {
      return missingPointer(model == nullptr ? "model" : "count");
    }
    if (text == nullptr && length > 0) {
      return missingPointer("text");
    }
    HEDDLE_TRY(checkArray("ids", ids, "capacity", capacity));
    HEDDLE_ASSIGN(const std::vector<int32_t> tokens, model->model.tokenize({text, length}));
    *count = static_cast<int64_t>(tokens.size());
    if (*count > capacity) {
      return HEDDLE_ERROR(OutOfRange,
                          fmt::format("room for {} ids, the text has {}", capacity, *count));
    }
    std::copy(tokens.begin(), tokens.end(), ids);
    return {};
  });
}

heddle_error *heddle_session_create(const heddle_model *model,
                                    const heddle_session_options *options,
                                    heddle_session **session) {
  return guarded([&]() -> Status {
    if (model == nullptr || session == nullptr) {
      return missingPointer(model == nullptr ? "model" : "session");
    }
    const heddle_session_options given = optionsOr(options, HEDDLE_SESSION_OPTIONS_INIT);
    SessionOptions wanted;
    wanted.threads = given.threads;
    HEDDLE_ASSIGN(Session created, Session::create(model->model, wanted));
    *session = new heddle_session{std::move(created)};
    return {};
  });
}

void heddle_session_free(heddle_session *session) { delete session; }

/// Runs an entry; texts have no widths.
static Status runArrays(heddle_session *session, const char *entry, const SequenceSizes &sequences,
                        const heddle_input *inputs, int64_t inputCount,
                        const heddle_output *outputs, int64_t outputCount) {
  HEDDLE_TRY(checkArray("inputs", inputs, "input_count", inputCount));
  HEDDLE_TRY(checkArray("outputs", outputs, "output_count", outputCount));
  return runSession(session, entry, sequences, {inputs, static_cast<size_t>(inputCount)},
                    {outputs, static_cast<size_t>(outputCount)});
}

heddle_error *heddle_session_run(heddle_session *session, const char *entry, const int32_t *lengths,
                                 int64_t sequences, const heddle_input *inputs, int64_t input_count,
                                 const heddle_output *outputs, int64_t output_count) {
  return guarded([&]() -> Status {
    if (session == nullptr || entry == nullptr) {
      return missingPointer(session == nullptr ? "session" : "entry");
    }
    HEDDLE_TRY(checkArray("lengths", lengths, "sequences", sequences));
    return runArrays(session, entry, {{lengths, static_cast<size_t>(sequences)}}, inputs,
                     input_count, outputs, output_count);
  });
}

heddle_error *heddle_session_run_images(heddle_session *session, const char *entry,
                                        const int32_t *lengths, const int32_t *widths,
                                        int64_t sequences, const heddle_input *inputs,
                                        int64_t input_count, const heddle_output *outputs,
                                        int64_t output_count) {
  return guarded([&]() -> Status {
    if (session == nullptr || entry == nullptr) {
      return missingPointer(session == nullptr ? "session" : "entry");
    }
    HEDDLE_TRY(checkArray("lengths", lengths, "sequences", sequences));
    HEDDLE_TRY(checkArray("widths", widths, "sequences", sequences));
    const auto count = static_cast<size_t>(sequences);
    return runArrays(session, entry, {{lengths, count}, {widths, count}}, inputs, input_count,
                     outputs, output_count);
  });
}

heddle_error *heddle_session_embedding_width(const heddle_session *session, int64_t *width) {
  return guarded([&]() -> Status {
    if (session == nullptr || width == nullptr) {
      return missingPointer(session == nullptr ? "session" : "width");
    }
    HEDDLE_ASSIGN(*width, session->session.embeddingWidth());
    return {};
  });
}

heddle_error *heddle_session_embed(heddle_session *session, const char *const *texts,
                                   const size_t *text_lengths, int64_t count, float *embeddings,
                                   int64_t capacity) {
  return guarded([&]() -> Status {
    if (session == nullptr) {
      return missingPointer("session");
    }
    HEDDLE_TRY(checkArray("texts", texts, "count", count));
    HEDDLE_TRY(checkArray("embeddings", embeddings, "capacity", capacity));
    std::vector<std::string_view> views;
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      if (texts[i] == nullptr) {
        return HEDDLE_ERROR(InvalidArgument, fmt::format("text {} is NULL", i + 1));
      }
      views.emplace_back(texts[i],
                         text_lengths == nullptr ? std::strlen(texts[i]) : text_lengths[i]);
    }
    HEDDLE_ASSIGN(const int64_t width, session->session.embeddingWidth());
    // A larger capacity than needed is allowed here.
    if (capacity / width < count) {
      return HEDDLE_ERROR(InvalidArgument, fmt::format("room for {} floats, expected {} embeddings "
                                                       "of {}",
                                                       capacity, count, width));
    }
    return session->session.embed(views, {embeddings, static_cast<size_t>(count * width)});
  });
}
