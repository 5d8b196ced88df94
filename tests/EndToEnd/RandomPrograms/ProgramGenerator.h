// SPDX-License-Identifier: Apache-2.0
///
/// Random programs of the model level: valid, with all operations that frontends may write, and
/// only occasionally similar to models. A seed gives the same program everywhere.
#ifndef HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_PROGRAMGENERATOR_H
#define HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_PROGRAMGENERATOR_H

#include "tests/EndToEnd/RandomPrograms/TestProgram.h"

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace heddle {

/// Returns the random program of a seed.
Result<TestProgram> generateProgram(mlir::MLIRContext &context, uint64_t seed);

/// Random numbers that are the same with every standard library.
class Dice {
public:
  explicit Dice(uint64_t seed) : engine(seed) {}

  /// Returns a number in [0, count).
  int64_t below(int64_t count) {
    return static_cast<int64_t>(engine() % static_cast<uint64_t>(count));
  }
  int64_t between(int64_t least, int64_t most) { return least + below(most - least + 1); }
  /// Returns true once in `count` times.
  bool once(int64_t count) { return below(count) == 0; }
  /// Returns a number from -1 to 1.
  double signedUnit() { return static_cast<double>(engine() >> 11) * 0x1p-52 - 1; }
  template <typename T> T of(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<int64_t>(choices.size()))];
  }
  template <typename T> const T &of(const std::vector<T> &choices) {
    return choices[static_cast<size_t>(below(static_cast<int64_t>(choices.size())))];
  }

private:
  std::mt19937_64 engine;
};

/// A value of the generated program.
struct Written {
  enum class Kind : uint8_t {
    Rows,    // [t, width]
    Heads,   // [t, heads, width]
    Scores,  // [t, heads, k]
    Pairs,   // [t, k]
    Blocks,  // [blocks, width]
    Choices, // [choices, width]
    Pooled,  // [sequences, width]
    Weight,  // of its own shape
  };
  Kind kind = Kind::Rows;
  std::string name;
  std::string type;
  int64_t heads = 0;
  int64_t width = 0;
  /// The segments of its keys.
  std::string keys = "";
  /// The approximate decimal exponent of its elements.
  double exponent = 0;
  /// Whether scores are probabilities.
  bool isSoftmax = false;
};

/// Writes one program: parameters, then entries.
class ProgramGenerator {
public:
  explicit ProgramGenerator(uint64_t seed);

  /// Writes the text and the tensors of the program.
  void write();
  std::string text() const { return sequencesText + parametersText + entriesText; }
  Tensors tensors;

private:
  using Kind = Written::Kind;

  // --- Entries
  void writeEncoder(const std::string &name, bool isPlain);
  void writeDecoding();
  void writeSourceEntry();
  void writeTargetEntry();
  void writeSequences(bool decodes);
  /// Looks up words, positions and types, or begins with rows of floats, and writes some random
  /// steps.
  void writeInputs(bool withTypes);
  /// Writes rows of the main width from the entry's inputs.
  Written writeGiven();
  /// Returns a value that is an argument.
  Written argument(const std::string &name, int64_t width);
  void steps(int64_t count);
  void poolRows();
  /// Finishes an entry with random values as outputs; `extra` are caches and states.
  void finishEntry(const std::string &head, const std::vector<Written> &outputs,
                   const std::vector<std::string> &names,
                   const std::vector<std::pair<std::string, Written>> &extra);

  // --- Parameters
  struct Stored {
    std::string name;
    std::vector<int64_t> shape;
    double exponent;
  };
  /// Returns a parameter with elements of about 10^exponent; sometimes an existing one.
  std::string parameter(const std::vector<int64_t> &shape, double exponent);
  std::string store(const std::vector<int64_t> &shape, double exponent);
  std::string derive(const std::vector<int64_t> &shape, double exponent);
  std::string declare(const std::vector<int64_t> &shape, const std::string &origin);
  std::string distanceTable(int64_t heads, double exponent);
  std::string positionTable(int64_t width, int64_t offset);
  std::vector<float> values(const std::vector<int64_t> &shape, double exponent);

  // --- Rows
  void step();
  /// Writes a step with one operation of a simple type.
  template <typename Op> Written write(const Written &x);
  /// Writes a window, or a product of it; with `strides`, over the rows of `to`.
  Written slide(const Written &x, const std::string &strides, const std::string &to);
  Written lookUp();
  void onBlocks(const Written &x);
  /// Writes rows that choose linear maps, mathematics on their choices, and rows of it.
  void onChoices(const Written &x);
  Written preferences(const Written &x, int64_t columns);
  Written chosenLinear(const Written &x, const std::string &choice, int64_t maps, int64_t columns);
  Written chosenMaths(const Written &x, const std::string &choice, int64_t maps);
  Written rowSoftmax(const Written &x);
  /// Writes heads as separate rows: with a norm, or rotated, or almost so.
  Written onHeads(const Written &x);
  Written turned(const Written &head, const std::string &heads);
  void defineBlocks();
  Written linear(const Written &x, int64_t width);
  Written columns(const Written &x);
  Written add(const Written &a, const Written &b);
  Written addOther(const Written &x);
  Written multiplyOther(const Written &x);
  Written scale(const Written &x);
  Written activate(const Written &x);
  Written norm(const Written &x);
  // --- Element by element
  Written combine(const std::string &function, const Written &x, const Written &other);
  Written shift(const Written &x, double number);
  Written multiply(const Written &x, const Written &factor);
  Written scaleBy(const Written &x, double factor);
  Written apply(std::string_view function, const Written &x);
  Written reduce(const std::string &method, const Written &x);
  /// Writes one of these operations, on operands for which it is defined.
  Written elementwise(const Written &x);
  /// Writes the mean of squares plus epsilon of rows, centred or not, and the rest of a norm, or
  /// almost so.
  Written spelledNorm(const Written &given);
  /// Writes an activation as its formula.
  Written spelledActivation(const Written &given);
  Written branches(const Written &x);
  Written feedForward(const Written &x);
  Written contractWeights(const Written &x);
  Written contractRows(const Written &x);
  Written repeated(const Written &x);
  // --- Recurrences
  void recurrences(const Written &x);
  Written recurrence(const Written &x, bool reversed);
  struct Carried;
  /// Loads the states that a recurrence of a decoder begins with, or makes values of a sequence.
  void beginCarried(Carried &carried, const Written &x);
  /// Writes a step: the carried values, then its results.
  std::vector<Written> writeStep(const Carried &carried, const std::vector<Written> &arguments);
  /// Writes a step's attention to a memory: adds the result to the state and returns the attention.
  Written lookWithin(Written &state, const Written &memory, const Written &before);
  // --- Heads
  Written split(const Written &x, int64_t heads);
  Written merge(const Written &x);
  Written repeatHeads(const Written &x, int64_t heads);
  Written headStep(const Written &x);
  Written attention(const Written &x);
  Written attend(const Written &x, const Written &product, const Written &keyRows,
                 const Written &values, bool hidesFuture, bool seesBlocks);
  Written project(const Written &x, int64_t heads, int64_t size);
  Written scores(const Written &queries, const Written &keys);
  /// With `looked`, values for the same keys, a convolution over these is part of the sums.
  Written pairScores(const Written &queries, const Written &keys, int64_t heads,
                     const Written *looked = nullptr);
  Written scoreStep(const Written &s);
  Written hide(const Written &s);
  Written softmax(const Written &s);
  /// Writes a softmax, or sigmoids divided by their sum.
  Written weigh(const Written &s);
  Written sumValues(const Written &p, const Written &values);
  Written keysFromQueries(const Written &p, const Written &x);
  // --- Caches and states
  /// Returns the rows that a decoder attends to: appended to a cache and read, or those of the
  /// memory.
  Written kept(const Written &x);
  Written remembered(int64_t width);
  Written average(const Written &x);
  /// Returns a new state of the decoder, of the last `places` rows, as it was before the run.
  Written lastRows(const Written &x, int64_t places);

  // --- Text
  Written define(Kind kind, std::string type, int64_t heads, int64_t width, double exponent,
                 const std::string &operation);
  Written rows(int64_t width, double exponent, const std::string &operation,
               Kind kind = Kind::Rows);
  static std::string rowsType(int64_t width) { return fmt::format("tensor<?x{}xf32>", width); }
  static std::string headsType(int64_t heads, int64_t width) {
    return fmt::format("tensor<?x{}x{}xf32>", heads, width);
  }
  static std::string shapeType(const std::vector<int64_t> &shape);
  Written weight(const std::vector<int64_t> &shape, double exponent);
  /// Picks an existing value of a kind, recent ones more often.
  Written pick(Kind kind);
  Written pickRows() { return pick(rowKind); }
  int64_t width();
  int64_t headCount();
  /// Returns the exponent of a result: 0 except in programs of extreme magnitudes.
  double target();
  /// Returns the factor from an exponent to the wanted one, in f32.
  double factor(double from, double to);

  Dice dice;
  bool extreme = false;
  /// Whether entries have recurrences, and the width of the initial value that the encoder sets for
  /// a decoder; 0: none.
  bool recurs = false;
  int64_t givenWidth = 0;
  bool inDecoder = false;
  std::string sequencesText;
  std::string parametersText;
  std::string entriesText;
  std::string body;
  std::vector<Written> defined;
  std::vector<Stored> stored;
  int64_t nextValue = 0;
  int64_t nextParameter = 0;
  int64_t vocabulary = 0;
  int64_t mainWidth = 0;
  /// The widths of this program.
  std::vector<int64_t> widths;
  bool hasTypes = false;
  /// Whether entries take ids; otherwise they only take rows of floats.
  bool hasIds = true;
  /// The widths of rows of floats that an entry takes; 0: none. The second are optional.
  int64_t featureWidth = 0;
  int64_t optionalWidth = 0;
  /// The rows that mathematics applies to: rows of the entry, or blocks of them; and their
  /// segments.
  Kind rowKind = Kind::Rows;
  std::string rowSegments = "%rows";
  /// The segments whose keys attention sees.
  std::string keySegments = "%rows";
  /// The segments of the entry's blocks, and of those between blocks and rows; empty if there are
  /// none.
  std::string blockSegments;
  std::string innerSegments;
  /// Windows with the strides that give them, in text; empty if there are none.
  std::string blockStrides;
  /// The width in pixels of an image, in entries with images.
  int64_t pixelsAcross = 1;
  /// Caches and states of the entry: arguments, and the returned ones.
  struct Kept {
    std::string name;
    std::string type;
    std::string result;
  };
  std::vector<Kept> keptHere;
  /// The caches of the source: their widths, and which the decoder has read.
  std::vector<int64_t> memoryWidths;
  size_t nextMemory = 0;
};

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_RANDOMPROGRAMS_PROGRAMGENERATOR_H
