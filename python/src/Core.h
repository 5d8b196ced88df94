// SPDX-License-Identifier: Apache-2.0
///
/// The class heddle._core.Model: what the package's Python calls. It takes checked arguments; the
/// Python around it has the interface for people. All methods may be called by any thread.
#ifndef HEDDLE_PYTHON_CORE_H
#define HEDDLE_PYTHON_CORE_H

#include "python/src/Arrays.h"
#include "python/src/Loaded.h"

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace heddle::python {

/// A request's place in the running batch, and what it needs to come back. Cancelled when it goes.
class Waiting {
public:
  Waiting(std::shared_ptr<RunningBatch> batch, std::shared_ptr<Ticket> ticket)
      : batch(std::move(batch)), ticket(std::move(ticket)) {}
  Waiting(Waiting &&other) noexcept = default;
  ~Waiting() { cancel(); }

  /// Whether all is finished, after at most so many seconds or, for one that follows, when there
  /// are more tokens.
  bool advance(double seconds);
  /// Takes a step for whoever waits, or sleeps until anything changes, for at most so many seconds.
  void drive(double seconds);
  /// Whether advance() would return at once.
  bool hasNews() const { return batch->hasNews(*ticket, seen); }
  /// Until all is finished; Ctrl-C ends the wait.
  void wait();
  void cancel();
  /// The tokens so far, of one that follows.
  std::vector<int32_t> tokens() const { return batch->agreed(*ticket); }
  /// For each request the hypotheses [(text, tokens, score, token scores, attention)], or the first
  /// failure, which is thrown. Call it once, when all is finished.
  nanobind::list take();

private:
  std::shared_ptr<RunningBatch> batch;
  std::shared_ptr<Ticket> ticket;
  uint64_t seen = 0;
};

class Core {
public:
  Core(const nanobind::bytes &path, std::string isa, int threads, bool verify, uint64_t cacheBytes,
       int64_t batchTokens);

  /// Later calls fail; those that compute finish.
  void close();
  bool closed() const;
  /// After a fork the child has none of the threads, and locks may be held for ever: it starts with
  /// a new copy, and leaves what the parent had alone.
  void afterFork();

  std::string isa() const { return std::string(loaded()->model().isa()); }
  int64_t embeddingWidth() const;
  /// The embeddings of texts into `out`, [texts, width]; looks for Ctrl-C and calls `progress` with
  /// the number of texts that are done after every `batch` texts.
  void embed(const nanobind::list &texts, const FloatsOut &out, size_t batch, bool normalize,
             const nanobind::object &progress) const;
  nanobind::list tokenize(const nanobind::list &texts) const;

  /// One entry over a batch: inputs are flat, outputs rows end to end.
  nanobind::dict run(const std::string &entry, const Ids &lengths, const nanobind::dict &inputs,
                     const std::vector<std::string> &outputs) const;
  /// "encode" and "decode" of given targets: the outputs of both, rows end to end.
  nanobind::dict runDecoder(const nanobind::list &sources, const nanobind::list &targets) const;

  /// Requests for the running batch; lists are as long as sources, or empty.
  Waiting add(const nanobind::list &sources, const nanobind::list &prefixes,
              const nanobind::list &shortlists, const std::vector<int32_t> &commands,
              const GenerationOptions &options, bool truncate, bool follows) const;
  /// Whether a request with these options draws tokens.
  bool samples(const GenerationOptions &options) const;
  /// The text of tokens, or None without a tokenizer.
  nanobind::object decode(const std::vector<int32_t> &tokens) const;
  nanobind::list score(const nanobind::list &sources, const nanobind::list &targets,
                       bool truncate) const;

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
