// SPDX-License-Identifier: Apache-2.0
///
/// Loading, closing, and functions without a batch.
#include "python/src/Core.h"

#include "python/src/Errors.h"
#include "python/src/Texts.h"

#include <fmt/format.h>

namespace nb = nanobind;

namespace heddle::python {

std::string numbered(std::string_view what, size_t index) {
  return fmt::format("{} {}", what, index + 1);
}

static std::shared_ptr<Loaded> load(const std::string &path, const LoadOptions &options) {
  const nb::gil_scoped_release unlocked;
  return take(Loaded::load(path, options));
}

Core::Core(const nb::bytes &path, LoadOptions given)
    : path(path.c_str(), path.size()), options(std::move(given)),
      mutex(std::make_unique<std::mutex>()), state(load(this->path, options)) {}

std::shared_ptr<Loaded> Core::loaded() const {
  const std::lock_guard lock(*mutex);
  if (state == nullptr) {
    invalid(fmt::format("{}: the model is closed, expected an open one", path));
  }
  return state;
}

bool Core::closed() const {
  const std::lock_guard lock(*mutex);
  return state == nullptr;
}

void Core::close() {
  std::shared_ptr<Loaded> last;
  {
    const std::lock_guard lock(*mutex);
    last = std::move(state);
  }
  const nb::gil_scoped_release unlocked;
  last.reset();
}

void Core::afterFork() {
  // Their destructors would wait for threads and locks of another process.
  (void)mutex.release();
  new std::shared_ptr<Loaded>(std::move(state));
  mutex = std::make_unique<std::mutex>();
  // The file may be gone; then the model counts as closed.
  options.verify = false;
  Result<std::shared_ptr<Loaded>> again = Loaded::load(path, options);
  state = again.ok() ? *std::move(again) : nullptr;
}

int64_t Core::embeddingWidth() const {
  const std::shared_ptr<Loaded> model = loaded();
  const Loaded::Lease session(*model, model->takeSession());
  return take(session->embeddingWidth());
}

nb::list Core::tokenize(const nb::list &texts) const {
  const std::shared_ptr<Loaded> model = loaded();
  nb::list result;
  for (size_t i = 0; i < nb::len(texts); ++i) {
    const nb::object text = texts[i];
    const std::string_view view = textOf(text, numbered("text", i));
    Result<std::vector<int32_t>> ids = [&] {
      const nb::gil_scoped_release unlocked;
      return model->model().tokenize(view);
    }();
    check(ids.status().annotate(numbered("text", i)));
    nb::list tokens;
    for (const int32_t id : *ids) {
      tokens.append(id);
    }
    result.append(tokens);
  }
  return result;
}

nb::object Core::chatPrompt(const nb::object &conversation, const std::string &name) const {
  const std::shared_ptr<Loaded> model = loaded();
  const std::string_view json = textOf(conversation, "conversation");
  const Result<std::string> prompt = [&] {
    const nb::gil_scoped_release unlocked;
    return model->model().chatPrompt(json, name);
  }();
  check(prompt.status());
  return nb::str(prompt->data(), prompt->size());
}

nb::tuple Core::use() const {
  const RunningBatch::Use use = loaded()->batch()->use();
  return nb::make_tuple(use.cache.used, use.cache.kept, use.cache.limit, use.sharedTokens);
}

nb::object Core::decode(const std::vector<int32_t> &tokens) const {
  const std::shared_ptr<RunningBatch> batch = loaded()->batch();
  const Result<std::string> text = batch->generator().decode(tokens);
  if (text.status().code() == StatusCode::NotFound) {
    return nb::none();
  }
  check(text.status());
  return nb::str(text->data(), text->size());
}

} // namespace heddle::python
