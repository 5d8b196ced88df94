// SPDX-License-Identifier: Apache-2.0
///
/// The constraints of a generator. Requests with the same schema share a constraint and its
/// computed states; the most recently used ones are kept. Requests are checked while others run, so
/// both classes may be used by any number of threads at once.
#ifndef HEDDLE_RUNTIME_CONSTRAINT_CONSTRAINTS_H
#define HEDDLE_RUNTIME_CONSTRAINT_CONSTRAINTS_H

#include "runtime/Constraint/Constraint.h"

#include <functional>
#include <list>
#include <mutex>
#include <string>

namespace heddle {

class Constraints {
public:
  /// Returns the texts of all ids that can be generated, in order, or the error that explains why
  /// there are none. Called once, when they are first needed.
  using Texts = std::function<Result<std::vector<std::optional<std::string>>>()>;

  Constraints(Texts texts, std::vector<int32_t> end);

  /// Returns the constraint of a schema.
  Result<std::shared_ptr<Constraint>> find(std::string_view schema);

private:
  struct Kept {
    std::string schema;
    std::shared_ptr<Constraint> constraint;
  };
  Texts texts;
  std::vector<int32_t> end;
  /// Guards the members below.
  std::mutex mutex;
  std::shared_ptr<const TokenTexts> tokens;
  // Most recently used first.
  std::list<Kept> kept;
};

} // namespace heddle

#endif // HEDDLE_RUNTIME_CONSTRAINT_CONSTRAINTS_H
