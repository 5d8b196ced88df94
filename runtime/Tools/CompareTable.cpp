// SPDX-License-Identifier: Apache-2.0
///
/// Rows of two numbers and their quotient.
#include "runtime/Tools/CompareTable.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string_view>

namespace heddle::tools {

using Json = nlohmann::ordered_json;

static std::string rowText(std::string_view name, const std::string &a, const std::string &b,
                           std::string_view rest = "") {
  std::string row = fmt::format("{:<28}{:>16}{:>16}  {}", name, a, b, rest);
  row.erase(row.find_last_not_of(' ') + 1);
  return row + "\n";
}

static std::string ratioText(double a, double b) {
  return a > 0 ? fmt::format("{:.3f}x", b / a) : std::string();
}

/// A row of two whole numbers.
static std::string countsText(std::string_view name, const Json &a, const Json &b) {
  return rowText(name, a.dump(), b.dump(), ratioText(a.get<double>(), b.get<double>()));
}

std::string compareTable(const Json &record) {
  const Json &a = record["a"];
  const Json &b = record["b"];
  const Json &difference = record["b_against_a"];
  std::string text =
      fmt::format("a  {}\nb  {}\n\n", a["file"].get<std::string>(), b["file"].get<std::string>());
  text += rowText(fmt::format("{} sentences", record["sentences"].dump()), "a", "b", "ratio");
  text += rowText("tokens/s", fmt::format("{:.1f}", a["tokens_per_s"].get<double>()),
                  fmt::format("{:.1f}", b["tokens_per_s"].get<double>()),
                  fmt::format("{:.3f}x", record["speed_ratio"].get<double>()));
  text +=
      rowText("predicted", "", "", fmt::format("{:.3f}x", record["predicted_ratio"].get<double>()));
  text += countsText("tokens", a["tokens"], b["tokens"]);
  text += countsText("weight bytes", a["weight_bytes"], b["weight_bytes"]);
  if (!a.contains("cache_bytes_per_token")) {
    return text + fmt::format("\ncosine of embeddings: mean {:.6f}, least {:.6f}\n",
                              difference["mean_cosine"].get<double>(),
                              difference["least_cosine"].get<double>());
  }
  for (const char *const kind : {"target", "source"}) {
    text += countsText(fmt::format("cache bytes a {} token", kind),
                       a["cache_bytes_per_token"][kind], b["cache_bytes_per_token"][kind]);
  }
  const auto number = [&](const char *key) { return difference[key].get<double>(); };
  text += fmt::format("\nb against a: {:.2f} % of tokens equal, {:.2f} % of lines identical, BLEU "
                      "{:.2f}, chrF {:.2f}\n",
                      100 * number("equal_tokens"), 100 * number("identical_lines"), number("bleu"),
                      number("chrf"));
  return text + fmt::format("distributions after a's texts: KL {:.6f}, JSD {:.6f} bits a token, of "
                            "{} tokens\n",
                            number("kl_bits"), number("jsd_bits"), difference["positions"].dump());
}

} // namespace heddle::tools
