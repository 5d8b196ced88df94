// SPDX-License-Identifier: Apache-2.0
///
/// A step of decoding that is no larger than earlier ones allocates nothing. This is a separate
/// program, because it counts every allocation.
#include "runtime/Generate/Candidates.h"
#include "tests/runtime/Session/DecoderModel.h"

#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<size_t> allocations = 0;

// NOLINTBEGIN: the replaced functions of the language.
void *operator new(size_t size) {
  ++allocations;
  if (void *const memory = std::malloc(size == 0 ? 1 : size)) {
    return memory;
  }
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
// NOLINTEND

using namespace heddle;

/// Generates one sentence of eight hypotheses, reordered and extended 100 times; returns the number
/// of allocations.
static size_t generate(PagedDecoder &decoder, Candidates &sink, SourceId source) {
  constexpr size_t beams = 8;
  const int32_t token = 7;
  HypothesisId beam[beams];
  Extension extensions[beams];
  RowQuery queries[beams];
  for (RowQuery &query : queries) {
    query.candidates = 2 * beams;
  }
  sink.prepare(queries);
  const size_t before = allocations;
  for (HypothesisId &hypothesis : beam) {
    hypothesis = *decoder.start(source);
  }
  for (int step = 0; step < 100; ++step) {
    for (size_t i = 0; i < beams; ++i) {
      extensions[i] = {beam[i], {&token, 1}};
    }
    EXPECT_TRUE(decoder.decode(extensions, sink).ok());
    const HypothesisId worst = beam[static_cast<size_t>(step) % beams];
    beam[static_cast<size_t>(step) % beams] =
        *decoder.fork(beam[static_cast<size_t>(step * 3 + 1) % beams]);
    decoder.release(worst);
  }
  for (const HypothesisId hypothesis : beam) {
    decoder.release(hypothesis);
  }
  return allocations - before;
}

TEST(DecoderAllocation, NoneOnceTheMemoryHasGrown) {
  for (const int trial : {0, 1, 2, 3}) {
    const int threads = trial / 2 + 1;
    const std::unique_ptr<PagedDecoder> decoder =
        makeDecoder({.threads = threads, .schedule = Schedule::Cooperative},
                    trial % 2 == 0 ? generatingModel() : averagingModel());
    Candidates sink;
    const SourceId source = encodeOne(*decoder, {1, 2, 3});
    EXPECT_GT(generate(*decoder, sink, source), 0u);
    // Tables are reused in another order, and may each have to grow once.
    for (int i = 0; i < 10; ++i) {
      generate(*decoder, sink, source);
    }
    EXPECT_EQ(generate(*decoder, sink, source), 0u) << threads;
  }
}
