// SPDX-License-Identifier: Apache-2.0
///
/// Random programs of the model level: valid, of all operations that frontends may write, and like
/// models only now and then. A seed gives the same program everywhere.
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

/// The random program of a seed.
Result<TestProgram> generateProgram(mlir::MLIRContext &context, uint64_t seed);

/// Random numbers that are the same with every standard library.
class Dice {
public:
  explicit Dice(uint64_t seed) : engine(seed) {}

  /// 0 to count - 1.
  int64_t below(int64_t count) {
    return static_cast<int64_t>(engine() % static_cast<uint64_t>(count));
  }
  int64_t between(int64_t least, int64_t most) { return least + below(most - least + 1); }
  /// True once in `count` times.
  bool once(int64_t count) { return below(count) == 0; }
  /// From -1 to 1.
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

/// A value of the program that is written.
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
  /// What its keys are: a name of segments.
  std::string keys = "";
  /// About the decimal exponent of its elements.
  double exponent = 0;
  /// Whether scores are probabilities.
  bool isSoftmax = false;
};

/// Writes one program: parameters, then entries.
class ProgramGenerator {
public:
  explicit ProgramGenerator(uint64_t seed);

  /// The text and the tensors of the program.
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
  /// Looks up words, positions and types, or begins with rows of floats, and takes some random
  /// steps from there.
  void writeInputs(bool withTypes);
  /// Rows of the main width of what the entry is given.
  Written writeGiven();
  /// A value that is an argument.
  Written argument(const std::string &name, int64_t width);
  void steps(int64_t count);
  void poolRows();
  /// Results of an entry with random values as outputs; `extra` are caches and states.
  void finishEntry(const std::string &head, const std::vector<Written> &outputs,
                   const std::vector<std::string> &names,
                   const std::vector<std::pair<std::string, Written>> &extra);

  // --- Parameters
  struct Stored {
    std::string name;
    std::vector<int64_t> shape;
    double exponent;
  };
  /// A parameter of elements of about 10^exponent; sometimes one that is there already.
  std::string parameter(const std::vector<int64_t> &shape, double exponent);
  std::string store(const std::vector<int64_t> &shape, double exponent);
  std::string derive(const std::vector<int64_t> &shape, double exponent);
  std::string declare(const std::vector<int64_t> &shape, const std::string &origin);
  std::string distanceTable(int64_t heads, double exponent);
  std::string positionTable(int64_t width, int64_t offset);
  std::vector<float> values(const std::vector<int64_t> &shape, double exponent);

  // --- Rows
  void step();
  /// A step that writes an operation of one type, for those that need no more than that.
  template <typename Op> Written write(const Written &x);
  /// What a window sees, or a product of it; with `strides`, of the rows of `to`.
  Written slide(const Written &x, const std::string &strides, const std::string &to);
  Written lookUp();
  void onBlocks(const Written &x);
  /// Rows that choose linear maps, mathematics on what they chose, and rows of it.
  void onChoices(const Written &x);
  Written preferences(const Written &x, int64_t columns);
  Written chosenLinear(const Written &x, const std::string &choice, int64_t maps, int64_t columns);
  Written chosenMaths(const Written &x, const std::string &choice, int64_t maps);
  Written rowSoftmax(const Written &x);
  /// Heads as rows of their own: with a norm, or turned by angles, or almost so.
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
  /// One of these, of operands that it is defined for.
  Written elementwise(const Written &x);
  /// The mean of squares and epsilon of rows, centred or not, and what follows; norms, or almost
  /// so.
  Written spelledNorm(const Written &given);
  /// An activation as its formula.
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
  /// The mathematics of a step: what is carried on, then what the step gives.
  std::vector<Written> writeStep(const Carried &carried, const std::vector<Written> &arguments);
  /// A step's look at a memory: adds what it finds to the state and gives where it has looked.
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
  /// With `looked`, numbers of the same keys, a convolution over these is part of the sums.
  Written pairScores(const Written &queries, const Written &keys, int64_t heads,
                     const Written *looked = nullptr);
  Written scoreStep(const Written &s);
  Written hide(const Written &s);
  Written softmax(const Written &s);
  /// A softmax, or sigmoids divided by their sum.
  Written weigh(const Written &s);
  Written sumValues(const Written &p, const Written &values);
  Written keysFromQueries(const Written &p, const Written &x);
  // --- Caches and states
  /// What a decoder attends to: rows appended to a cache and read, or those of the memory.
  Written kept(const Written &x);
  Written remembered(int64_t width);
  Written average(const Written &x);
  /// A new state of the decoder, of the last `places` rows, as it was before the run.
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
  /// A value of a kind of which there is one, the latest ones more often.
  Written pick(Kind kind);
  Written pickRows() { return pick(rowKind); }
  int64_t width();
  int64_t headCount();
  /// The exponent a result is to have: 0 but for programs of extreme magnitudes.
  double target();
  /// The factor that leads from an exponent to the wanted one, as f32 has it.
  double factor(double from, double to);

  Dice dice;
  bool extreme = false;
  /// Whether entries have recurrences, and the width of what one in a decoder begins with, which
  /// the encoder gives; 0: nothing.
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
  /// Those of this program.
  std::vector<int64_t> widths;
  bool hasTypes = false;
  /// Whether entries take ids; else they take rows of floats alone.
  bool hasIds = true;
  /// The widths of rows of floats that an entry takes; 0: none. The second are optional.
  int64_t featureWidth = 0;
  int64_t optionalWidth = 0;
  /// What mathematics is on: rows of the entry, or blocks of them; and their segments.
  Kind rowKind = Kind::Rows;
  std::string rowSegments = "%rows";
  /// Segments whose keys attention sees.
  std::string keySegments = "%rows";
  /// Those of the entry's blocks, and of what these are blocks of beside rows; empty if there are
  /// none.
  std::string blockSegments;
  std::string innerSegments;
  /// Windows with the strides that leave them, in text; empty if none do.
  std::string blockStrides;
  /// Pixels in a row of an image, in entries that have some.
  int64_t pixelsAcross = 1;
  /// Caches and states of the entry: arguments, and what it returns of them.
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
