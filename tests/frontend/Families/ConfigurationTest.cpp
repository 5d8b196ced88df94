// SPDX-License-Identifier: Apache-2.0
///
/// Configurations that are rejected, and options that are read.
#include "frontend/Families/Family.h"

#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Config/Config.h"
#include "tests/frontend/Builder/PrintedModule.h"

#include "mlir/IR/MLIRContext.h"

#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>

namespace heddle {

/// One change to a valid configuration.
struct ConfigurationCase {
  const char *name;
  const char *folder;
  /// A JSON object that is merged in; null removes a key.
  const char *change;
  /// The beginning of the message or, for accepted changes, a part of the program.
  const char *expected;
};

static Result<std::string> programOf(const ConfigurationCase &item) {
  const std::string folder = std::string(HEDDLE_TEST_DATA "/oracles/") + item.folder;
  HEDDLE_ASSIGN(const Config stored, Config::open(folder + "/config.json"));
  HEDDLE_ASSIGN(const Checkpoint checkpoint, Checkpoint::open(folder));
  nlohmann::json values = nlohmann::json::object();
  for (const std::string &key : stored.keys()) {
    if (stored.integer(key, 0, 1 << 20).ok()) {
      values[key] = *stored.integer(key, 0, 1 << 20);
    } else if (stored.string(key).ok()) {
      values[key] = *stored.string(key);
    } else if (stored.boolean(key).ok()) {
      values[key] = *stored.boolean(key);
    } else if (stored.strings(key).ok()) {
      values[key] = *stored.strings(key);
    } else if (stored.object(key).ok()) {
      values[key] = nlohmann::json::parse(stored.json(key), nullptr, false);
    }
  }
  values.merge_patch(nlohmann::json::parse(item.change, nullptr, false));
  HEDDLE_ASSIGN(const Config config, Config::fromJson(values, "config.json"));
  mlir::MLIRContext context;
  HEDDLE_ASSIGN(const FamilyModel model,
                buildFamily(context, {config, checkpoint, std::nullopt, std::nullopt}));
  return printed(*model.module);
}

class RefusedConfiguration : public testing::TestWithParam<ConfigurationCase> {};

TEST_P(RefusedConfiguration, GivesItsMessage) {
  const Result<std::string> program = programOf(GetParam());
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.status().message(), GetParam().expected);
}

static const ConfigurationCase refused[] = {
    {"Gpt2Heads", "gpt2-tiny", R"({"n_head": 5})",
     "config.json: \"n_head\" is 5, expected a divisor of \"n_embd\", 52"},
    {"Gpt2Inner", "gpt2-tiny", R"({"n_inner": 0})",
     "config.json: \"n_inner\" is 0, expected an integer from 1 to 262144"},
    {"Gpt2Activation", "gpt2-tiny", R"({"activation_function": 3})",
     "config.json: \"activation_function\" is 3, expected one of gelu, gelu_new, relu, tanh, silu, "
     "sigmoid, quick_gelu, softplus, abs, sin, cos, floor, rsqrt, exp, log, erf, sqrt, reciprocal, "
     "nan_to_zero, gelu_pytorch_tanh, swish"},
    {"Branches", "transformer-post", R"({"branches": 4})",
     "config.json: \"branches\" is 4, expected an object"},
    {"NoBranches", "transformer-post", R"({"branches": {"count": 0, "ffn": "shared"}})",
     "config.json: \"branches\": \"count\" is 0, expected an integer from 1 to 65536"},
    {"BranchesThatDoNotDivide", "transformer-post",
     R"({"branches": {"count": 5, "ffn": "shared"}})",
     "config.json: \"branches\": \"count\" is 5, expected a divisor of \"d_model\", 48"},
    {"BranchesWithoutWidth", "transformer-post",
     R"({"branches": {"count": 4, "ffn": "per-branch"}, "d_ff": 3})",
     "config.json: \"branches\": \"count\" is 4, expected at most \"d_ff\", 3"},
    {"FeedForwardOfBranches", "transformer-post", R"({"branches": {"count": 4, "ffn": "own"}})",
     "config.json: \"branches\": \"ffn\" is \"own\", expected one of per-branch, shared"},
    {"SelfAttentionSharing", "transformer-post", R"({"self_attention_sharing": [2, 2]})",
     "config.json: \"self_attention_sharing\" has blocks of 4 layers in all, expected 3, "
     "\"decoder_layers\""},
    {"CrossAttentionSharing", "transformer-post", R"({"cross_attention_sharing": [2]})",
     "config.json: \"cross_attention_sharing\" has blocks of 2 layers in all, expected 3, "
     "\"decoder_layers\""},
    {"EmptyBlock", "transformer-post", R"({"cross_attention_sharing": [3, 0]})",
     "config.json: \"cross_attention_sharing\" is a list of 2, expected an integer from 1 to 3, "
     "or a list of them"},
    {"SharingByName", "transformer-post", R"({"self_attention_sharing": "all"})",
     "config.json: \"self_attention_sharing\" is \"all\", expected an integer from 1 to 3, or a "
     "list "
     "of them"},
    {"SharingOfBranches", "transformer-post",
     R"({"branches": {"count": 4, "ffn": "shared"}, "cross_attention_sharing": [3]})",
     "config.json: \"cross_attention_sharing\" is set, expected a model without it: its layers "
     "have "
     "\"branches\" in that place"},
    {"DecoderSelfAttention", "transformer-post", R"({"decoder_self_attention": "linear"})",
     "config.json: \"decoder_self_attention\" is \"linear\", expected one of softmax, average, or "
     "an "
     "object with a \"kind\""},
    {"AverageInTheEncoder", "transformer-post", R"({"encoder_self_attention": "average"})",
     "config.json: \"encoder_self_attention\" is \"average\", expected one of softmax, or an "
     "object "
     "with a \"kind\""},
    {"SelfAttentionMisspelt", "transformer-post", R"({"decoder_self_attention": "avarage"})",
     "config.json: \"decoder_self_attention\" is \"avarage\", expected one of softmax, average, or "
     "an object with a \"kind\"; did you mean \"average\"?"},
    {"FormByNumber", "transformer-post", R"({"encoder_self_attention": 256})",
     "config.json: \"encoder_self_attention\" is 256, expected one of softmax, or an object with a "
     "\"kind\""},
    {"FormWithoutKind", "transformer-post", R"({"encoder_self_attention": {"size": 3}})",
     "config.json: \"encoder_self_attention\": \"kind\" is missing, expected one of window, band, "
     "block"},
    {"KindMisspelt", "transformer-post", R"({"encoder_self_attention": {"kind": "windows"}})",
     "config.json: \"encoder_self_attention\": \"kind\" is \"windows\", expected one of window, "
     "band, block; did you mean \"window\"?"},
    {"KindOfNoForm", "transformer-post", R"({"encoder_self_attention": {"kind": "dilated"}})",
     "config.json: \"encoder_self_attention\": \"kind\" is \"dilated\", expected one of window, "
     "band, block"},
    {"WindowOfNothing", "transformer-post",
     R"({"encoder_self_attention": {"kind": "window", "size": 0}})",
     "config.json: \"encoder_self_attention\": \"size\" is 0, expected an integer from 1 to "
     "268435456"},
    {"BandWithoutAfter", "transformer-post",
     R"({"decoder_self_attention": {"kind": "band", "before": 3}})",
     "config.json: \"decoder_self_attention\": \"after\" is missing, expected an integer from 0 to "
     "268435456"},
    {"BandBackwards", "transformer-post",
     R"({"decoder_self_attention": {"kind": "band", "before": -3, "after": 0}})",
     "config.json: \"decoder_self_attention\": \"before\" is -3, expected an integer from 0 to "
     "268435456"},
    {"KeyOfAnotherForm", "transformer-post",
     R"({"encoder_self_attention": {"kind": "window", "size": 3, "before": 1}})",
     "config.json: \"encoder_self_attention\": unknown key \"before\", expected one of the keys of "
     "docs/model-format.md"},
    {"KeyOfAFormMisspelt", "transformer-post",
     R"({"encoder_self_attention": {"kind": "window", "size": 1, "sizes": 4}})",
     "config.json: \"encoder_self_attention\": unknown key \"sizes\", did you mean \"size\"?"},
    {"FormsOfTooFewLayers", "transformer-post", R"({"encoder_self_attention": ["softmax"]})",
     "config.json: \"encoder_self_attention\" has 1 items, expected 3, one for each layer"},
    {"ItemOfAList", "transformer-post",
     R"({"decoder_self_attention": ["softmax", {"kind": "block", "size": "4"}, "softmax"]})",
     "config.json: item 2: \"decoder_self_attention\": \"size\" is \"4\", expected an integer from "
     "1 "
     "to 268435456"},
    {"FormsOfASharedBlock", "transformer-post",
     R"({"self_attention_sharing": [1, 2], "decoder_self_attention":
         ["softmax", "softmax", {"kind": "window", "size": 3}]})",
     "config.json: \"decoder_self_attention\" of layer 2 is another than that of layer 1, expected "
     "one for the block of layers that \"self_attention_sharing\" names"},
    {"SharedAverages", "san-average", R"({"self_attention_sharing": [3]})",
     "config.json: \"self_attention_sharing\" is set, expected a model without"},
    {"ZeroEmbedding", "transformer-post", R"({"start_from_zero_embedding": 1})",
     "config.json: \"start_from_zero_embedding\" is 1, expected true or false"},
    {"HeadsOfTransformer", "transformer-post", R"({"heads": 5})",
     "config.json: \"heads\" is 5, expected a divisor of \"d_model\", 48"},
    {"OddWidth", "transformer-post", R"({"d_model": 49, "heads": 7})",
     "config.json: \"d_model\" is 49, expected an even number from 4 on for sinusoids"},
    {"TwoVocabulariesTied", "transformer-post", R"({"target_vocab_size": 60})",
     "config.json: \"target_vocab_size\" is 60, expected 61, \"vocab_size\", with "
     "\"tie_embeddings\""},
    {"StartOutsideOfTheVocabulary", "transformer-post", R"({"bos_token_id": 61})",
     "config.json: \"bos_token_id\" is 61, expected an integer from 0 to 60"},
    {"Rules", "transformer-post", R"({"rules": "mine"})",
     "config.json: \"rules\" is \"mine\", expected one of paper, transformers, ctranslate2"},
    {"AlignmentLayer", "transformer-post", R"({"alignment_layer": 3})",
     "config.json: \"alignment_layer\" is 3, expected an integer from 0 to 2"},
    {"Norm", "transformer-post", R"({"norm": "none"})",
     "config.json: \"norm\" is \"none\", expected one of pre, post"},
    {"Positions", "transformer-post", R"({"positions": "rotary"})",
     "config.json: \"positions\" is \"rotary\", expected one of sinusoidal, sinusoidal-split, "
     "learned"},
    {"HeadsOfMarian", "marian-tiny", R"({"decoder_attention_heads": 5})",
     "config.json: \"decoder_attention_heads\" is 5, expected a divisor of \"d_model\", 48"},
    {"OddMarian", "marian-tiny",
     R"({"d_model": 49, "encoder_attention_heads": 7, "decoder_attention_heads": 7})",
     "config.json: \"d_model\" is 49, expected an even number for sinusoids"},
    {"TwoVocabulariesShared", "marian-tiny", R"({"decoder_vocab_size": 90})",
     "config.json: \"decoder_vocab_size\" is 90, expected 97, \"vocab_size\", with "
     "\"share_encoder_decoder_embeddings\""},
    {"NoStart", "bart-tiny", R"({"decoder_start_token_id": null, "bos_token_id": null})",
     "config.json: \"decoder_start_token_id\" and \"bos_token_id\" are missing, expected one of "
     "them"},
    {"OddBuckets", "t5-tiny", R"({"relative_attention_num_buckets": 9})",
     "config.json: \"relative_attention_num_buckets\" is 9, expected an even number"},
    {"DistanceInsideOfTheBuckets", "t5-tiny", R"({"relative_attention_max_distance": 4})",
     "config.json: \"relative_attention_max_distance\" is 4, expected an integer from 5 to 65536"},
    {"FeedForward", "t5-tiny", R"({"feed_forward_proj": "gated-selu"})",
     "config.json: \"feed_forward_proj\" is \"gated-selu\", expected one of gelu, gelu_new, relu, "
     "tanh, silu, sigmoid, quick_gelu, softplus, abs, sin, cos, floor, rsqrt, exp, log, erf, sqrt, "
     "reciprocal, nan_to_zero, gelu_pytorch_tanh, swish, gated-gelu, "
     "gated-gelu_new, gated-relu, gated-tanh, gated-silu, gated-sigmoid, gated-quick_gelu, "
     "gated-softplus, gated-abs, gated-sin, gated-cos, gated-floor, gated-rsqrt, gated-exp, "
     "gated-log, gated-erf, gated-sqrt, gated-reciprocal, gated-nan_to_zero, "
     "gated-gelu_pytorch_tanh, "
     "gated-swish; did you mean \"gated-gelu\"?"},
    {"UnknownModelType", "bert-tiny", R"({"model_type": "rwkv"})",
     "config.json: \"model_type\" is \"rwkv\", expected one of "
     "albert, bart, bert, camembert, distilbert, gemma2, gemma3_text, gpt2, gpt_neox, llama, "
     "m2m_100, marian, mbart, mistral, mixtral, modernbert, mpnet, multimodel, pegasus, phi3, "
     "qwen2, qwen3, qwen3_moe, recurrent, roberta, t5, transformer, xlm-roberta"},
    {"OddWidthOfM2M100", "m2m100-tiny",
     R"({"d_model": 35, "encoder_attention_heads": 5, "decoder_attention_heads": 5})",
     "config.json: \"d_model\" is 35, expected an even number from 4 on for sinusoids"},
    {"NarrowM2M100", "m2m100-tiny",
     R"({"d_model": 2, "encoder_attention_heads": 1, "decoder_attention_heads": 1})",
     "config.json: \"d_model\" is 2, expected an even number from 4 on for sinusoids"},
    {"OddWidthOfPegasus", "pegasus-tiny", R"({"d_model": 33, "encoder_attention_heads": 1})",
     "config.json: \"d_model\" is 33, expected an even number for sinusoids"},
    {"WindowOfModernBert", "modernbert-tiny", R"({"local_attention": 1})",
     "config.json: \"local_attention\" is 1, expected an integer from 2 to 16777216"},
    {"HeadsOfModernBert", "modernbert-tiny", R"({"num_attention_heads": 3})",
     "config.json: \"num_attention_heads\" is 3, expected a divisor of \"hidden_size\", 40"},
    {"PoolingOfModernBert", "modernbert-tiny", R"({"classifier_pooling": "max"})",
     "config.json: \"classifier_pooling\" is \"max\", expected one of cls, mean; did you mean "
     "\"mean\"?"},
    {"LayersOfModernBert", "modernbert-tiny", R"({"layer_types": ["full_attention"]})",
     "config.json: \"layer_types\" names 1 layers, expected 4"},
    {"Heads", "bert-tiny", R"({"num_attention_heads": 5})",
     "config.json: \"num_attention_heads\" is 5, expected a divisor of \"hidden_size\", 72"},
    {"HeadsOfDistilBert", "distilbert-tiny", R"({"n_heads": 4})",
     "config.json: \"n_heads\" is 4, expected a divisor of \"dim\", 54"},
    {"Decoder", "bert-tiny", R"({"is_decoder": true})",
     "config.json: \"is_decoder\" is true, expected an encoder"},
    {"BucketsOfMpNet", "mpnet-tiny", R"({"relative_attention_num_buckets": 7})",
     "config.json: \"relative_attention_num_buckets\" is 7, expected an integer from 32 to 32"},
    {"GroupsOfAlbert", "albert-tiny", R"({"num_hidden_groups": 9})",
     "config.json: \"num_hidden_groups\" is 9, expected an integer from 1 to 5"},
    {"NoLabels", "bert-tags",
     R"({"id2label": {"0": null, "1": null, "2": null, "3": null, "4": null}})",
     "config.json: \"id2label\" has 0 labels, expected 1 to 65536"},
    {"GapInLabels", "bert-tags", R"({"id2label": {"1": null}})",
     "config.json: \"id2label\": \"1\" is missing, expected a string"},
    {"ProblemOfLabels", "bert-tags", R"({"problem_type": "ranking"})",
     "config.json: \"problem_type\" is \"ranking\", expected one of regression, "
     "single_label_classification, multi_label_classification"},
    {"PositionsOfMpNet", "mpnet-tiny", R"({"max_position_embeddings": 2})",
     "config.json: \"max_position_embeddings\" is 2, expected more than 2, the first position "
     "after the padding's"},
    {"PositionsOfRoberta", "roberta-tiny", R"({"max_position_embeddings": 2})",
     "config.json: \"max_position_embeddings\" is 2, expected more than 2, the first position "
     "after \"pad_token_id\""},
    {"Cell", "recurrent/lstm-none", R"({"encoder": {"cell": "lru"}})",
     "config.json: \"encoder\": \"cell\" is \"lru\", expected one of tanh, gru, gru-reset-after, "
     "lstm; did you mean \"gru\"?"},
    {"BothWays", "recurrent/lstm-none", R"({"encoder": {"bidirectional": "last"}})",
     "config.json: \"encoder\": \"bidirectional\" is \"last\", expected true, false or "
     "\"first\""},
    {"KeyOfTheEncoder", "recurrent/lstm-none", R"({"encoder": {"hiden": 4}})",
     "config.json: \"encoder\": unknown key \"hiden\", did you mean \"hidden\"?"},
    {"KeyOfTheDecoder", "recurrent/lstm-none", R"({"decoder": {"fed": "none"}})",
     "config.json: \"decoder\": unknown key \"fed\", did you mean \"feed\"?"},
    {"Residual", "recurrent/gnmt-like", R"({"encoder": {"residual_from": 1}})",
     "config.json: \"encoder\": \"residual_from\" is 1, expected layers of one width from there "
     "on: "
     "layer 1 takes 32 and gives 16"},
    {"CopiedStates", "recurrent/lstm-none", R"({"decoder": {"hidden": 40}})",
     "config.json: \"bridge\" is \"copy\", expected a decoder with the encoder's cell and 2 layers "
     "of "
     "width 44"},
    {"BackwardStates", "recurrent/lstm-none", R"({"bridge": "backward"})",
     "config.json: \"bridge\" is \"backward\", expected an encoder whose last layer goes both "
     "ways"},
    {"ScoresOfNoKind", "recurrent/lstm-none", R"({"attention": {"kind": "locaton"}})",
     "config.json: \"attention\": \"kind\" is \"locaton\", expected one of none, last, additive, "
     "dot, general, concat, location; did you mean \"location\"?"},
    {"NoFilters", "recurrent/location", R"({"attention": {"filters": 0}})",
     "config.json: \"attention\": \"filters\" is 0, expected an integer from 1 to 65536"},
    {"NegativeKernel", "recurrent/location", R"({"attention": {"kernel": -7}})",
     "config.json: \"attention\": \"kernel\" is -7, expected an integer from 1 to 4096"},
    {"EvenKernel", "recurrent/location", R"({"attention": {"kernel": 6}})",
     "config.json: \"attention\": \"kernel\" is 6, expected an odd number: its middle is at the "
     "key "
     "itself"},
    {"NoKernel", "recurrent/location", R"({"attention": {"kernel": null}})",
     "config.json: \"attention\": \"kernel\" is missing, expected an integer from 1 to 4096"},
    {"FirstLook", "recurrent/location", R"({"attention": {"first": "onehot"}})",
     "config.json: \"attention\": \"first\" is \"onehot\", expected one of zeros, one-hot; did you "
     "mean \"one-hot\"?"},
    {"SumOfLooks", "recurrent/location", R"({"attention": {"cumulative": "yes"}})",
     "config.json: \"attention\": \"cumulative\" is \"yes\", expected true or false"},
    {"Normaliser", "recurrent/gru-additive", R"({"attention": {"normaliser": "smoth"}})",
     "config.json: \"attention\": \"normaliser\" is \"smoth\", expected one of softmax, smooth; "
     "did "
     "you mean \"smooth\"?"},
    {"NormaliserWithoutScores", "recurrent/lstm-none", R"({"attention": {"normaliser": "smooth"}})",
     "config.json: \"attention\": \"normaliser\" is set, expected a \"kind\" with scores beside "
     "it, "
     "neither \"none\" nor \"last\""},
    {"FiltersWithoutLocation", "recurrent/gru-additive", R"({"attention": {"filters": 4}})",
     "config.json: \"attention\": unknown key \"filters\", expected one of the keys of "
     "docs/model-format.md"},
    {"MemoryAsItIs", "recurrent/gru-additive", R"({"attention": {"project_memory": false}})",
     "config.json: \"attention\": \"width\" is 19, expected 40, the width of what the encoder "
     "gives, without \"project_memory\""},
    {"DotProducts", "recurrent/gru-additive", R"({"attention": {"kind": "dot"}})",
     "config.json: \"attention\": \"kind\" is \"dot\", expected a decoder whose \"hidden\" is 40, "
     "the width of what the encoder gives, got 26"},
    {"WindowWithoutScores", "recurrent/lstm-none",
     R"({"attention": {"window": {"kind": "monotonic", "size": 2}}})",
     "config.json: \"attention\": \"window\" is set, expected a \"kind\" with scores beside it, "
     "neither \"none\" nor \"last\""},
    {"NarrowWindow", "recurrent/gru-concat-local-p", R"({"attention": {"window": {"size": 0}}})",
     "config.json: \"attention\": \"window\": \"size\" is 0, expected an integer from 1 to "
     "16777216"},
    {"KeyOfTheWindow", "recurrent/gru-concat-local-p", R"({"attention": {"window": {"sise": 2}}})",
     "config.json: \"attention\": \"window\": unknown key \"sise\", did you mean \"size\"?"},
    {"KeyOfTheAttention", "recurrent/gru-additive", R"({"attention": {"widht": 4}})",
     "config.json: \"attention\": unknown key \"widht\", did you mean \"width\"?"},
    {"FedFirst", "recurrent/gru-additive", R"({"decoder": {"feed": "context"}})",
     "config.json: \"decoder\": \"feed\" is \"context\", expected \"none\" where \"order\" is "
     "\"attend-first\", whose steps take the context at hand"},
    {"FedNothing", "recurrent/lstm-general", R"({"readout": {"kind": "linear"}})",
     "config.json: \"decoder\": \"feed\" is \"attentional\", expected \"readout\" of the kind "
     "\"attentional\", which makes what is fed"},
    {"ResidualOfTheDecoder", "recurrent/lstm-none", R"({"decoder": {"residual_from": 0}})",
     "config.json: \"decoder\": \"residual_from\" is 0, expected layers of one width from there "
     "on: layer 0 takes 18 and gives 44"},
    {"ReadoutKind", "recurrent/lstm-none", R"({"readout": {"kind": "max"}})",
     "config.json: \"readout\": \"kind\" is \"max\", expected one of linear, attentional, maxout; "
     "did you mean \"maxout\"?"},
    {"WidthOfMaxout", "recurrent/lstm-none", R"({"readout": {"kind": "maxout"}})",
     "config.json: \"readout\": \"width\" is missing, expected an integer from 1 to 65536"},
    {"OrderOfAStep", "recurrent/lstm-none", R"({"decoder": {"order": "first"}})",
     "config.json: \"decoder\": \"order\" is \"first\", expected one of attend-first, state-first"},
};
INSTANTIATE_TEST_SUITE_P(All, RefusedConfiguration, testing::ValuesIn(refused),
                         [](const auto &info) { return info.param.name; });

/// Messages worded by Config; these cases only check that they name the key.
TEST(RefusedValues, NameTheirKey) {
  const std::pair<const char *, const char *> cases[] = {
      {"model_type", R"({"model_type": null})"},
      {"model_type", R"({"model_type": 3})"},
      {"hidden_size", R"({"hidden_size": null})"},
      {"hidden_size", R"({"hidden_size": 0})"},
      {"hidden_size", R"({"hidden_size": 1e9})"},
      {"hidden_size", R"({"hidden_size": "72"})"},
      {"vocab_size", R"({"vocab_size": -1})"},
      {"num_hidden_layers", R"({"num_hidden_layers": 0})"},
      {"num_hidden_layers", R"({"num_hidden_layers": 1000000})"},
      {"num_attention_heads", R"({"num_attention_heads": 0})"},
      {"intermediate_size", R"({"intermediate_size": 2.5})"},
      {"max_position_embeddings", R"({"max_position_embeddings": []})"},
      {"type_vocab_size", R"({"type_vocab_size": 0})"},
      {"hidden_act", R"({"hidden_act": "mish"})"},
      {"layer_norm_eps", R"({"layer_norm_eps": -1})"},
      {"layer_norm_eps", R"({"layer_norm_eps": "small"})"},
      {"position_embedding_type", R"({"position_embedding_type": "relative_key"})"},
      {"is_decoder", R"({"is_decoder": "no"})"},
  };
  for (const auto &[key, change] : cases) {
    const Result<std::string> program = programOf({"", "bert-tiny", change, ""});
    ASSERT_FALSE(program.ok()) << change;
    EXPECT_TRUE(contains(program.status().message(), std::string("\"") + key + "\"")) << change;
    EXPECT_TRUE(program.status().message().starts_with("config.json: ")) << change;
  }
}

static const ConfigurationCase acceptedValues[] = {
    {"", "transformer-post", R"({"activation": "swish"})", "transformer.activate silu"},
    {"", "transformer-post", R"({"activation": "sigmoid"})", "transformer.activate sigmoid"},
    {"", "transformer-post", R"({"activation": "quick_gelu"})", "transformer.activate quick_gelu"},
    {"", "transformer-post", R"({"start_from_zero_embedding": true})",
     "@decoder.after_start : tensor<64x48xf32> = ones_from(1)"},
    {"", "transformer-post", R"({"positions": "sinusoidal-split", "positions_offset": 1})",
     "@positions : tensor<64x48xf32> = sinusoid_split(1, 23)"},
    {"", "transformer-post", R"({"output_bias": true})",
     "@shared.weight, @output.bias : tensor<?x48xf32> -> tensor<?x61xf32>"},
    {"", "transformer-post", R"({"scale_embeddings": false})", "%1 = transformer.positions %arg1"},
    {"", "transformer-pre", R"({"target_vocab_size": 40})",
     "@decoder.embed.weight : tensor<40x48xf32>"},
    {"", "transformer-post", R"({"embedding_norm": true})",
     "@encoder.embedding_norm.weight, @encoder.embedding_norm.bias"},
    {"", "transformer-post", R"({"final_norm": true})", "@decoder.norm.weight, @decoder.norm.bias"},
    {"", "transformer-post", R"({"rules": "ctranslate2"})", "rules = \"ctranslate2\""},
    {"", "marian-tiny", R"({"share_encoder_decoder_embeddings": false, "decoder_vocab_size": 90})",
     "@model.decoder.embed_tokens.weight : tensor<90x48xf32>"},
    {"", "bart-tiny", R"({"tie_word_embeddings": false})",
     "@lm_head.weight, @final_logits_bias.vector"},
    {"", "gpt2-tiny", R"({"scale_attn_by_inverse_layer_idx": true})", ", 0.0924500"},
    {"", "gpt2-tiny", R"({"scale_attn_weights": false, "scale_attn_by_inverse_layer_idx": true})",
     ", 5.000000e-01 : tensor<?x4x?xf32>"},
    {"", "gpt2-tiny", R"({"n_inner": 70})", "@transformer.h.0.mlp.c_fc.weight : tensor<52x70xf32>"},
    {"", "gpt2-tiny", R"({"activation_function": "relu"})", "transformer.activate relu"},
    {"", "gpt2-tiny", R"({"tie_word_embeddings": false})", "@lm_head.weight : tensor<107x52xf32>"},
    {"", "bart-tiny", R"({"scale_embedding": true})", "transformer.scale %0, 6.000000e+00"},
    {"", "bart-tiny", R"({"model_type": "mbart"})",
     "@model.encoder.layer_norm.weight, @model.encoder.layer_norm.bias"},
    {"", "t5-tiny", R"({"feed_forward_proj": "relu"})",
     "@encoder.block.0.layer.1.DenseReluDense.wi.weight"},
    {"", "t5-tiny", R"({"feed_forward_proj": "gated-silu"})", "transformer.activate silu"},
    {"", "t5-tiny", R"({"feed_forward_proj": "gelu"})", "transformer.activate gelu %"},
    {"", "t5-tiny", R"({"feed_forward_proj": "gated-gelu"})", "transformer.activate gelu_new %"},
    {"", "t5-tiny", R"({"feed_forward_proj": "gated-softplus"})", "transformer.activate softplus"},
    {"", "t5-tiny", R"({"tie_word_embeddings": false, "scale_decoder_outputs": false})",
     "@lm_head.weight : tensor<?x40xf32> -> tensor<?x101xf32>"},
    {"", "bert-tiny", R"({"hidden_act": "gelu_new"})", "transformer.activate gelu_new"},
    {"", "bert-tiny", R"({"hidden_act": "gelu_pytorch_tanh"})", "transformer.activate gelu_new"},
    {"", "bert-tiny", R"({"hidden_act": "quick_gelu"})", "transformer.activate quick_gelu"},
    {"", "bert-tiny", R"({"hidden_act": "relu"})", "transformer.activate relu"},
    {"", "bert-tiny", R"({"hidden_act": "softplus"})", "transformer.activate softplus"},
    {"", "bert-tiny", R"({"hidden_act": "abs"})", "transformer.activate abs"},
    {"", "bart-tiny", R"({"activation_function": "sin"})", "transformer.activate sin"},
    {"", "transformer-post", R"({"activation": "cos"})", "transformer.activate cos"},
    {"", "bert-tiny", R"({"layer_norm_eps": 0.5})", "epsilon = 5.000000e-01"},
    {"", "bert-tiny", R"({"position_embedding_type": "absolute"})", "transformer.positions"},
    {"", "bert-tiny", R"({"num_attention_heads": 36})", "tensor<?x36x2xf32>"},
    {"", "distilbert-tiny", R"({"activation": "relu"})", "transformer.activate relu"},
    {"", "roberta-tiny", R"({"pad_token_id": 0})", "{offset = 1 : i64}"},
    {"", "mpnet-tiny", R"({"pad_token_id": 0})", "{offset = 2 : i64}"},
    // All kinds of attention with scores.
    {"", "recurrent/gru-additive", R"({"attention": {"normaliser": "smooth"}})",
     "transformer.divide_by_sum"},
    {"", "recurrent/lstm-general", R"({"attention": {"normaliser": "smooth"}})",
     "transformer.divide_by_sum"},
    {"", "recurrent/lstm-dot-local-m", R"({"attention": {"normaliser": "smooth"}})",
     "transformer.divide_by_sum"},
    {"", "recurrent/gru-concat-local-p", R"({"attention": {"normaliser": "smooth"}})",
     "transformer.divide_by_sum"},
    {"", "recurrent/location", R"({"attention": {"normaliser": "smooth"}})",
     "transformer.divide_by_sum"},
    {"", "recurrent/location-cumulative", R"({"attention": {"normaliser": "softmax"}})",
     "transformer.softmax"},
    {"", "recurrent/location", R"({"attention": {"first": null, "cumulative": true}})",
     "!transformer.state<1, keys> {transformer.name = \"feed.alignments\"}"},
};

TEST(AcceptedValues, ReachTheProgram) {
  for (const ConfigurationCase &item : acceptedValues) {
    const Result<std::string> program = programOf(item);
    ASSERT_TRUE(program.ok()) << program.status().message();
    EXPECT_TRUE(contains(*program, item.expected)) << item.change;
  }
}

/// The documentation lists all activations that a configuration may name.
TEST(Activations, AreAllInTheDocumentation) {
  std::ifstream page(HEDDLE_TEST_DATA "/../docs/model-format.md");
  std::string row;
  while (std::getline(page, row) && !row.starts_with("| `activation`*")) {
  }
  for (const std::string &name : activationNames()) {
    EXPECT_NE(row.find(fmt::format("`{}`", name)), std::string::npos) << name << " in " << row;
  }
}

} // namespace heddle
