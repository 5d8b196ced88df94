// SPDX-License-Identifier: Apache-2.0
///
/// Generates from several texts at once, and prints each result as soon as it is finished.
///
///   generate_cpp dates.so "the third of May" "zwölfter 3. 2021" ...
#include <heddle/Generation.h>

#include <cstdio>

static void print(const heddle::Generator &generator, const heddle::GenerationResult &result) {
  if (!result.status.ok()) {
    std::fprintf(stderr, "request %lld: %s\n", static_cast<long long>(result.id),
                 std::string(result.status.message()).c_str());
    return;
  }
  const heddle::Hypothesis &best = result.hypotheses.front();
  const heddle::Result<std::string> text = generator.decode(best.tokens);
  std::printf("%.4f  %s\n", best.score, text.ok() ? text->c_str() : "");
}

static heddle::Status generate(const char *path, std::span<const std::string_view> texts) {
  HEDDLE_ASSIGN(const heddle::Model model, heddle::Model::load(path));
  HEDDLE_ASSIGN(heddle::Generator generator, heddle::Generator::create(model));
  for (const std::string_view text : texts) {
    HEDDLE_ASSIGN(const std::vector<int32_t> source, generator.encodeSource(text));
    HEDDLE_TRY(generator.add({.source = source, .options = {.beam = 4}}).status());
  }
  while (!generator.idle()) {
    HEDDLE_ASSIGN(const std::vector<heddle::GenerationResult> finished, generator.step());
    for (const heddle::GenerationResult &result : finished) {
      print(generator, result);
    }
  }
  return {};
}

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fputs("usage: generate_cpp MODEL.so TEXT...\n", stderr);
    return 2;
  }
  const std::vector<std::string_view> texts(argv + 2, argv + argc);
  const heddle::Status status = generate(argv[1], texts);
  if (!status.ok()) {
    std::fprintf(stderr, "generate_cpp: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  return 0;
}
