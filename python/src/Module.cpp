// SPDX-License-Identifier: Apache-2.0
///
/// The extension module heddle._core: bindings for the package's Python code, which is the
/// interface.
#include "python/src/Core.h"
#include "python/src/Errors.h"

#include "runtime/Tools/Info/ModelDescription.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nanobind::literals;

namespace heddle::python {

/// Returns the output of `heddle info --json`.
static std::string describe(const nb::bytes &path) {
  const std::string name(path.c_str(), path.size());
  const nb::gil_scoped_release unlocked;
  return take(tools::describeModel(name))
      .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// Returns {"invalid argument": 1, ...}, all kinds of failures.
static nb::dict statusCodes() {
  nb::dict codes;
#define HEDDLE_STATUS(Name, value, text) codes[text] = value;
#include "heddle/Status.def"
  return codes;
}

static void bindOptions(nb::module_ &module) {
  nb::enum_<Rules>(module, "Rules")
      .value("paper", Rules::Paper)
      .value("transformers", Rules::Transformers)
      .value("ctranslate2", Rules::CTranslate2);
  nb::enum_<EarlyStopping>(module, "EarlyStopping")
      .value("no", EarlyStopping::No)
      .value("yes", EarlyStopping::Yes)
      .value("never", EarlyStopping::Never);
  nb::class_<GenerationOptions>(module, "Options")
      .def(nb::init<>())
      .def_rw("rules", &GenerationOptions::rules)
      .def_rw("beam", &GenerationOptions::beam)
      .def_rw("nbest", &GenerationOptions::nbest)
      .def_rw("length_penalty", &GenerationOptions::lengthPenalty)
      .def_rw("coverage_penalty", &GenerationOptions::coveragePenalty)
      .def_rw("no_repeat_ngram", &GenerationOptions::noRepeatNgram)
      .def_rw("repetition_penalty", &GenerationOptions::repetitionPenalty)
      .def_rw("min_length", &GenerationOptions::minLength)
      .def_rw("max_length", &GenerationOptions::maxLength)
      .def_rw("early_stopping", &GenerationOptions::earlyStopping)
      .def_rw("sample", &GenerationOptions::sample)
      .def_rw("temperature", &GenerationOptions::temperature)
      .def_rw("top_k", &GenerationOptions::topK)
      .def_rw("top_p", &GenerationOptions::topP)
      .def_rw("min_p", &GenerationOptions::minP)
      .def_rw("seed", &GenerationOptions::seed)
      .def_rw("alternatives", &GenerationOptions::alternatives)
      .def_rw("suppressed", &GenerationOptions::suppressed)
      .def_rw("forced_first", &GenerationOptions::forcedFirst)
      .def_rw("forced_last", &GenerationOptions::forcedLast)
      .def_rw("command", &GenerationOptions::command)
      .def_rw("stop", &GenerationOptions::stop)
      .def_rw("json_schema", &GenerationOptions::jsonSchema)
      .def_rw("token_scores", &GenerationOptions::tokenScores)
      .def_rw("top_scores", &GenerationOptions::topScores)
      .def_rw("events", &GenerationOptions::events)
      .def_rw("attention", &GenerationOptions::attention);
}

static void bindLanguages(nb::module_ &module) {
  nb::class_<Languages>(module, "Languages")
      .def(nb::init<std::vector<std::string>, std::vector<std::string>>(), "sources"_a,
           "targets"_a);
}

static void bindMeasures(nb::module_ &module) {
  nb::enum_<tools::ProfileBy>(module, "ProfileBy")
      .value("name", tools::ProfileBy::Name)
      .value("dispatch", tools::ProfileBy::Dispatch)
      .value("layer", tools::ProfileBy::Layer)
      .value("kind", tools::ProfileBy::Kind);
  nb::enum_<BlockRule>(module, "BlockRule")
      .value("largest", BlockRule::Largest)
      .value("extend", BlockRule::Extend);
  nb::class_<ProfileRequest>(module, "ProfileRequest")
      .def(nb::init<>())
      .def_rw("shapes", &ProfileRequest::shapes)
      .def_rw("cases", &ProfileRequest::cases)
      .def_rw("entry", &ProfileRequest::entry)
      .def_rw("source_length", &ProfileRequest::sourceLength)
      .def_rw("target_length", &ProfileRequest::targetLength)
      .def_rw("beam", &ProfileRequest::beam)
      .def_rw("by", &ProfileRequest::by)
      .def_rw("runs", &ProfileRequest::runs);
}

static void bindLoadOptions(nb::module_ &module) {
  nb::class_<LoadOptions>(module, "LoadOptions")
      .def(nb::init<>())
      .def_rw("isa", &LoadOptions::isa)
      .def_rw("device", &LoadOptions::device)
      .def_rw("threads", &LoadOptions::threads)
      .def_rw("verify", &LoadOptions::verify)
      .def_rw("cache_bytes", &LoadOptions::cacheBytes)
      .def_rw("batch_tokens", &LoadOptions::batchTokens)
      .def_rw("prompt_tokens", &LoadOptions::promptTokens)
      .def_rw("prompt_tokens_beside", &LoadOptions::promptTokensBeside)
      .def_rw("share_prefixes", &LoadOptions::sharePrefixes);
}

static void bindModel(nb::module_ &module) {
  nb::class_<Waiting>(module, "Waiting")
      .def("advance", &Waiting::advance, "seconds"_a)
      .def("drive", &Waiting::drive, "seconds"_a)
      .def("has_news", &Waiting::hasNews)
      .def("wait", &Waiting::wait)
      .def("cancel", &Waiting::cancel)
      .def("prefix", &Waiting::prefix)
      .def("take", &Waiting::take);
  nb::class_<Core>(module, "Model")
      .def(nb::init<const nb::bytes &, LoadOptions>(), "path"_a, "options"_a)
      .def("close", &Core::close)
      .def_prop_ro("closed", &Core::closed)
      .def("after_fork", &Core::afterFork)
      .def_prop_ro("isa", &Core::isa)
      .def_prop_ro("device", &Core::device)
      .def("embedding_width", &Core::embeddingWidth)
      .def("embed", &Core::embed, "texts"_a, "out"_a.noconvert(), "batch"_a, "normalize"_a,
           "progress"_a.none())
      .def("tokenize", &Core::tokenize, "texts"_a)
      .def("classify", &Core::classify, "texts"_a, "seconds"_a, "batch"_a, "cross_encoder"_a)
      .def("run", &Core::run, "entry"_a, "lengths"_a, "inputs"_a, "outputs"_a)
      .def("run_decoder", &Core::runDecoder, "sources"_a, "targets"_a)
      .def("samples", &Core::samples, "options"_a)
      .def("add", &Core::add, "sources"_a, "prefixes"_a, "shortlists"_a, "commands"_a,
           "languages"_a, "options"_a, "truncate"_a, "chat_template"_a.none())
      .def("chat_prompt", &Core::chatPrompt, "conversation"_a, "name"_a)
      .def_prop_ro("chat_templates", &Core::chatTemplates)
      .def("decode", &Core::decode, "tokens"_a)
      .def("score", &Core::score, "sources"_a, "targets"_a, "languages"_a, "truncate"_a,
           "adds_end"_a)
      .def("score_texts", &Core::scoreTexts, "texts"_a, "stride"_a)
      .def("use", &Core::use)
      .def("profile", &Core::profile, "texts"_a, "request"_a)
      .def("analyze", &Core::analyze, "texts"_a, "beam"_a.none(), "theta"_a.none(), "blocks"_a)
      .def("alignments", &Core::alignments, "text"_a, "beam"_a.none());
}

} // namespace heddle::python

NB_MODULE(_core, module) {
  module.doc() = "The runtime of Heddle; use the package heddle.";
  // A thread that computes when the interpreter ends still holds its model.
  nb::set_leak_warnings(false);
  heddle::python::translateFailures();
  heddle::python::bindOptions(module);
  heddle::python::bindLanguages(module);
  heddle::python::bindMeasures(module);
  heddle::python::bindLoadOptions(module);
  heddle::python::bindModel(module);
  module.def("describe", &heddle::python::describe, "path"_a);
  module.def("status_codes", &heddle::python::statusCodes);
  module.attr("version") = HEDDLE_VERSION;
  module.def("machine_targets", &heddle::machineTargets);
}
