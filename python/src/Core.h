// SPDX-License-Identifier: Apache-2.0
///
/// The class heddle._core.Model: what the package's Python calls. It takes checked arguments; the
/// Python around it has the interface for people. All methods may be called by any thread.
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

/// A request's place in the running batch, and what it needs to come back. Cancelled when it goes.
class Waiting {
public:
  Waiting(std::shared_ptr<RunningBatch> batch, std::shared_ptr<Ticket> ticket,
          std::vector<int32_t> begun, std::string_view what)
      : batch(std::move(batch)), ticket(std::move(ticket)), begun(std::move(begun)), what(what) {}
  Waiting(Waiting &&other) noexcept = default;
  ~Waiting() { cancel(); }

  /// (whether all is finished, what has happened), after at most so many seconds or, for one that
  /// follows, when something has happened: events (sample, tokens, scores, best tokens, text, why
  /// it ended or None). All events are there once all is finished.
  nanobind::tuple advance(double seconds);
  /// Takes a step for whoever waits, or sleeps until anything changes, for at most so many seconds.
  void drive(double seconds);
  /// Whether advance() would return at once.
  bool hasNews() const { return batch->hasNews(*ticket, seen); }
  /// Until all is finished; Ctrl-C ends the wait.
  void wait();
  void cancel();
  /// The prefix of the first request, if it answers a source: what its hypotheses begin with.
  const std::vector<int32_t> &prefix() const { return begun; }
  /// For each request the hypotheses, as tuples of what heddle.Hypothesis has, or the first
  /// failure, which is thrown. Call it once, when all is finished.
  nanobind::list take();

private:
  std::shared_ptr<RunningBatch> batch;
  std::shared_ptr<Ticket> ticket;
  std::vector<int32_t> begun;
  /// What messages call that from which is generated.
  std::string_view what;
  uint64_t seen = 0;
};

/// Work to profile beside texts, as tools::ProfileOptions has it.
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

  /// Later calls fail; those that compute finish.
  void close();
  bool closed() const;
  /// After a fork the child has none of the threads, and locks may be held for ever: it starts with
  /// a new copy, and leaves what the parent had alone.
  void afterFork();

  std::string isa() const { return std::string(loaded()->model().isa()); }
  std::string device() const { return std::string(loaded()->model().device()); }
  int64_t embeddingWidth() const;
  /// The embeddings of texts into `out`, [texts, width]; looks for Ctrl-C and calls `progress` with
  /// the number of texts that are done after every `batch` texts.
  void embed(const nanobind::list &texts, const FloatsOut &out, size_t batch, bool normalize,
             const nanobind::object &progress) const;
  nanobind::list tokenize(const nanobind::list &texts) const;

  /// The logits of texts, alone or each with a second one, None where it has none: [texts, labels]
  /// or, of a classifier of tokens, [(ids, what each stands for, [tokens, labels])].
  nanobind::object classify(const nanobind::list &texts, const nanobind::list &seconds,
                            size_t batch, bool crossEncoder) const;

  /// One entry over a batch: inputs are flat, outputs rows end to end.
  nanobind::dict run(const std::string &entry, const Ids &lengths, const nanobind::dict &inputs,
                     const std::vector<std::string> &outputs) const;
  /// "encode" and "decode" of given targets: the outputs of both, rows end to end.
  nanobind::dict runDecoder(const nanobind::list &sources, const nanobind::list &targets) const;

  /// Requests for the running batch; lists are as long as sources, or empty. With the name of a
  /// chat template, which may be "", sources are conversations in JSON.
  Waiting add(const nanobind::list &sources, const nanobind::list &prefixes,
              const nanobind::list &shortlists, const std::vector<int32_t> &commands,
              const Languages &languages, const GenerationOptions &options, bool truncate,
              const std::optional<std::string> &chatTemplate) const;
  /// Whether a request with these options draws tokens.
  bool samples(const GenerationOptions &options) const;
  /// The prompt that a template makes of a conversation in JSON.
  nanobind::object chatPrompt(const nanobind::object &conversation, const std::string &name) const;
  std::vector<std::string> chatTemplates() const { return loaded()->model().chatTemplates(); }
  /// The text of tokens, or None without a tokenizer.
  nanobind::object decode(const std::vector<int32_t> &tokens) const;
  nanobind::list score(const nanobind::list &sources, const nanobind::list &targets,
                       const Languages &languages, bool truncate, bool addsEnd) const;
  /// The log-probabilities of texts alone, in windows.
  nanobind::list scoreTexts(const nanobind::list &texts, int64_t stride) const;
  /// What `heddle profile --json` prints of such work.
  std::string profile(const nanobind::list &texts, const ProfileRequest &request) const;
  /// The file of `heddle analyze`, and its picture.
  nanobind::tuple analyze(const nanobind::list &texts, std::optional<int32_t> beam,
                          std::optional<double> theta, BlockRule blocks) const;
  /// What each attention makes of a text: (name, words of rows, words of columns, weights,
  /// picture).
  nanobind::list alignments(const nanobind::object &text, std::optional<int32_t> beam) const;
  /// Bytes of caches (used, kept, limit), and how many tokens of prompts were taken over.
  nanobind::tuple use() const;

private:
  /// The model, which lives as long as the call that asked for it.
  std::shared_ptr<Loaded> loaded() const;

  std::string path;
  LoadOptions options;
  std::unique_ptr<std::mutex> mutex;
  std::shared_ptr<Loaded> state;
};

/// Ids or a text as ids, of a source or a target; `what` begins messages.
std::string numbered(std::string_view what, size_t index);

} // namespace heddle::python

#endif // HEDDLE_PYTHON_CORE_H
