// SPDX-License-Identifier: Apache-2.0
///
/// Runs a binary over batches of sequences: by a session, or by a decoder if the program has
/// caches.
#ifndef HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_PROGRAMRUN_H
#define HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_PROGRAMRUN_H

#include "heddle/Session.h"
#include "tests/EndToEnd/RandomPrograms/ProgramCheck.h"
#include "tests/EndToEnd/RandomPrograms/ProgramGenerator.h"

#include <memory>
#include <vector>

namespace heddle {

class PagedDecoder;

/// The division of each target into decoding steps.
enum class Pieces : uint8_t { Whole, Single, Random };

/// One session or decoder.
class ProgramRun {
public:
  static Result<ProgramRun> create(const Model &model, bool decodes, int threads,
                                   Schedule schedule);
  ProgramRun(ProgramRun &&) noexcept;
  ProgramRun &operator=(ProgramRun &&) noexcept;
  ~ProgramRun();

  /// Returns the results of all sequences of one batch.
  Result<std::vector<SequenceValues>> run(const std::vector<Sequence> &batch, Pieces pieces,
                                          Dice &dice);

private:
  ProgramRun();
  Status runEntry(const EntryInfo &entry, const std::vector<Sequence> &batch,
                  std::vector<SequenceValues> &results);
  Status decode(const std::vector<Sequence> &batch, Pieces pieces, Dice &dice,
                std::vector<SequenceValues> &results);

  std::unique_ptr<Session> session;
  std::unique_ptr<PagedDecoder> decoder;
};

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_PROGRAMRUN_H
