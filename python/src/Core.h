// SPDX-License-Identifier: Apache-2.0
///
/// The class heddle._core.Model, which the package's Python code calls. It takes checked arguments;
/// the Python code provides the user interface. All methods may be called by any thread.
#ifndef HEDDLE_PYTHON_CORE_H
#define HEDDLE_PYTHON_CORE_H

#include "python/src/Arrays.h"
#include "python/src/Given.h"
#include "python/src/Loaded.h"
#include "runtime/Tools/Commands.h"

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::python {

/// The requests of a call in the running batch, with the data for their results. Cancelled when
/// destroyed.
class Waiting {
public:
  Waiting(std::shared_ptr<RunningBatch> batch, std::shared_ptr<Ticket> ticket,
          std::vector<int32_t> begun, std::string_view what)
      : batch(std::move(batch)), ticket(std::move(ticket)), begun(std::move(begun)), what(what) {}
  Waiting(Waiting &&other) noexcept = default;
  ~Waiting() { cancel(); }

  /// Returns (whether all is finished, events) after at most `seconds` seconds or, for a caller
  /// that follows, as soon as there is an event (sample, tokens, scores, best tokens, text, finish
  /// reason or None). All events are included once all is finished.
  nanobind::tuple advance(double seconds);
  /// Runs a step for all waiting callers, or sleeps until something changes, for at most `seconds`
  /// seconds.
  void drive(double seconds);
  /// Returns whether advance() would return at once.
  bool hasNews() const { return batch->hasNews(*ticket, seen); }
  /// Waits until all is finished; Ctrl-C ends the wait.
  void wait();
  void cancel();
  /// Returns the prefix of the first request, if it has a source: the beginning of its hypotheses.
  const std::vector<int32_t> &prefix() const { return begun; }
  /// Returns for each request the hypotheses, as tuples of heddle.Hypothesis's fields, or throws
  /// the first failure. Call it once, when all is finished.
  nanobind::list take();

private:
  std::shared_ptr<RunningBatch> batch;
  std::shared_ptr<Ticket> ticket;
  std::vector<int32_t> begun;
  /// The name of the sources in messages.
  std::string_view what;
  uint64_t seen = 0;
};

/// The work to profile in addition to texts, as in tools::ProfileOptions.
struct ProfileRequest {
  std::vector<std::pair<int32_t, int32_t>> shapes;
  std::vector<std::pair<int32_t, int32_t>> cases;
  std::string entry;
  int32_t sourceLength = 24;
  int32_t targetLength = 24;
  std::optional<int32_t> beam;
  tools::ProfileBy by = tools::ProfileBy::Name;
  int64_t runs = 5;
};

class Core {
public:
  Core(const nanobind::bytes &path, LoadOptions options);

  /// Makes later calls fail; running computations finish.
  void close();
  bool closed() const;
  /// Reinitialises the model in a forked child, which has none of the threads and may have locks
  /// that are held forever: creates new state and abandons the parent's.
  void afterFork();

  std::string isa() const { return std::string(loaded()->model().isa()); }
  std::string device() const { return std::string(loaded()->model().device()); }
  int64_t embeddingWidth() const;
  /// Embeds texts into `out`, [texts, width]; checks for Ctrl-C and calls `progress` with the
  /// number of finished texts after every `batch` texts.
  void embed(const nanobind::list &texts, const FloatsOut &out, size_t batch, bool normalize,
             const nanobind::object &progress) const;
  nanobind::list tokenize(const nanobind::list &texts) const;

  /// Returns the logits of texts, each with a second text or None: [texts, labels] or, for a
  /// classifier of tokens, [(ids, the text of each, [tokens, labels])].
  nanobind::object classify(const nanobind::list &texts, const nanobind::list &seconds,
                            size_t batch, bool crossEncoder) const;

  /// Runs one entry over a batch: inputs are flat, outputs are concatenated rows.
  nanobind::dict run(const std::string &entry, const Ids &lengths, const nanobind::dict &inputs,
                     const std::vector<std::string> &outputs) const;
  /// Runs "encode" and "decode" on given targets and returns the outputs of both, as concatenated
  /// rows.
  nanobind::dict runDecoder(const nanobind::list &sources, const nanobind::list &targets) const;

  /// Adds requests to the running batch; lists have the length of `sources`, or are empty. With the
  /// name of a chat template, which may be "", sources are conversations in JSON.
  Waiting add(const nanobind::list &sources, const nanobind::list &prefixes,
              const nanobind::list &shortlists, const std::vector<int32_t> &commands,
              const Languages &languages, const GenerationOptions &options, bool truncate,
              const std::optional<std::string> &chatTemplate) const;
  /// Returns whether a request with these options samples tokens.
  bool samples(const GenerationOptions &options) const;
  /// Returns the prompt that a template renders for a conversation in JSON.
  nanobind::object chatPrompt(const nanobind::object &conversation, const std::string &name) const;
  std::vector<std::string> chatTemplates() const { return loaded()->model().chatTemplates(); }
  /// Returns the text of tokens, or None without a tokenizer.
  nanobind::object decode(const std::vector<int32_t> &tokens) const;
  nanobind::list score(const nanobind::list &sources, const nanobind::list &targets,
                       const Languages &languages, bool truncate, bool addsEnd) const;
  /// Returns the log-probabilities of single texts, scored in windows.
  nanobind::list scoreTexts(const nanobind::list &texts, int64_t stride) const;
  /// Returns the output of `heddle profile --json` for this work.
  std::string profile(const nanobind::list &texts, const ProfileRequest &request) const;
  /// Returns the file of `heddle analyze`, and its picture.
  nanobind::tuple analyze(const nanobind::list &texts, std::optional<int32_t> beam,
                          std::optional<double> theta, BlockRule blocks) const;
  /// Returns the maps of each attention for a text: (name, words of rows, words of columns,
  /// weights, picture).
  nanobind::list alignments(const nanobind::object &text, std::optional<int32_t> beam) const;
  /// Returns the bytes of caches (used, kept, limit), and the number of reused prompt tokens.
  nanobind::tuple use() const;

private:
  /// Returns the model, which lives at least as long as the calling method.
  std::shared_ptr<Loaded> loaded() const;

  std::string path;
  LoadOptions options;
  std::unique_ptr<std::mutex> mutex;
  std::shared_ptr<Loaded> state;
};

/// Returns the name of an item in messages: `what` with its index.
std::string numbered(std::string_view what, size_t index);

} // namespace heddle::python

#endif // HEDDLE_PYTHON_CORE_H
