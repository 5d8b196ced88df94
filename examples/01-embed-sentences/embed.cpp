// SPDX-License-Identifier: Apache-2.0
///
/// Embeds sentences with a compiled model, and prints how similar each is to the first.
///
///   embed_cpp minilm.so "A cat sat." "A dog sat." ...
#include <heddle/Session.h>

#include <cmath>
#include <cstdio>

static double cosine(std::span<const float> a, std::span<const float> b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += double(a[i]) * b[i];
    aa += double(a[i]) * a[i];
    bb += double(b[i]) * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

static heddle::Status embed(const char *path, std::span<const std::string_view> texts) {
  HEDDLE_ASSIGN(const heddle::Model model, heddle::Model::load(path));
  HEDDLE_ASSIGN(heddle::Session session, heddle::Session::create(model, {.threads = 2}));
  HEDDLE_ASSIGN(const int64_t width, session.embeddingWidth());
  std::vector<float> embeddings(texts.size() * size_t(width));
  HEDDLE_TRY(session.embed(texts, embeddings));
  const std::span<const float> all(embeddings);
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::span<const float> own = all.subspan(i * size_t(width), size_t(width));
    std::printf("similarity %.4f  %.*s\n", cosine(all.first(size_t(width)), own),
                int(texts[i].size()), texts[i].data());
  }
  return {};
}

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fputs("usage: embed_cpp MODEL.so SENTENCE...\n", stderr);
    return 2;
  }
  const std::vector<std::string_view> texts(argv + 2, argv + argc);
  const heddle::Status status = embed(argv[1], texts);
  if (!status.ok()) {
    std::fprintf(stderr, "embed_cpp: %.*s\n", int(status.message().size()),
                 status.message().data());
    return 1;
  }
  return 0;
}
