// SPDX-License-Identifier: Apache-2.0
///
/// The C++ calls that the Python package is compared with, as functions for ctypes. Times are taken
/// here, so that they exclude the call from Python to C++.
#include "heddle/Session.h"

#include <chrono>
#include <cstdio>
#include <vector>

namespace {
struct Embedder {
  heddle::Session session;
  std::vector<float> embedding;
};
} // namespace

static heddle::Result<Embedder *> open(const char *path, int threads) {
  HEDDLE_ASSIGN(const heddle::Model model, heddle::Model::load(path));
  HEDDLE_ASSIGN(heddle::Session session, heddle::Session::create(model, {.threads = threads}));
  HEDDLE_ASSIGN(const int64_t width, session.embeddingWidth());
  return new Embedder{std::move(session), std::vector<float>(static_cast<size_t>(width))};
}

/// Creates a session with the model of a file; null, with a message on stderr, on failure. It is
/// never destroyed.
extern "C" Embedder *openEmbedder(const char *path, int threads) {
  const heddle::Result<Embedder *> opened = open(path, threads);
  if (!opened.ok()) {
    std::fprintf(stderr, "%s\n", opened.status().message().data());
    return nullptr;
  }
  return *opened;
}

/// Returns the seconds that Session::embed takes for a text; negative on failure.
extern "C" double secondsOfEmbed(Embedder *embedder, const char *text) {
  const std::string_view view = text;
  const auto begin = std::chrono::steady_clock::now();
  const heddle::Status status = embedder->session.embed({&view, 1}, embedder->embedding);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  return status.ok() ? time.count() : -1;
}

/// Returns the result of the last call.
extern "C" const float *embeddingOf(const Embedder *embedder) { return embedder->embedding.data(); }
