# SPDX-License-Identifier: Apache-2.0
"""Makes encoder-decoders: random models of odd sizes, saved as Hugging Face transformers saves them, and what they
answer, computed in float64 from the stored float32 weights. pegasus-tiny/ and m2m100-tiny/ have expected.safetensors.
nllb-tiny/ and mbart-tiny/ have tokenizers with languages: texts.jsonl has texts, the languages asked for, ids and
answers.

    python make_translators.py FOLDER      needs torch, transformers, tokenizers and safetensors

The same versions give the same files.
"""

import json
import pathlib
import sys

import safetensors.torch
import tokenizers
import torch
import transformers

LENGTHS = [15, 1, 8, 19]
TARGETS = 11
SEARCHES = {
    "greedy": {"max_new_tokens": 20, "num_beams": 1},
    "beam4": {"max_new_tokens": 20, "num_beams": 4, "length_penalty": 1.0, "early_stopping": False,
              "num_return_sequences": 4},
    "beam5lp": {"max_new_tokens": 16, "num_beams": 5, "length_penalty": 0.6, "early_stopping": True,
                "num_return_sequences": 2},
}
TEXTS = ["Where is the cat?", "it sits on the mat", "Stocks fell  sharply.", "die Katze sitzt", "the the the",
         "quartz \u4e1c?"]
CORPUS = ["Where is the cat? It sits on the mat.", "Stocks fell sharply on the first day.",
          "Die Katze sitzt auf der Matte, wo ist der Hund?", "the quick brown fox jumps over the lazy dog",
          "Le chat est assis sur le tapis."] * 3
LANGUAGES = ["ace_Latn", "deu_Latn", "eng_Latn", "fra_Latn", "rus_Cyrl", "zho_Hans"]


def randomize(model):
    """Values large enough that every part of the model shows in the result. Embeddings are smaller, so that a token
    does not answer itself."""
    for name, parameter in model.named_parameters():
        if "embed_positions" in name and not parameter.requires_grad:
            continue
        is_table = "shared" in name or "embed_tokens" in name or "lm_head" in name
        parameter.data = torch.randn_like(parameter) * (0.2 if is_table or parameter.dim() == 1 else 0.5)
        if "norm" in name and name.endswith("weight"):
            parameter.data += 1
    for name, buffer in model.named_buffers():
        if name == "final_logits_bias":
            buffer.copy_(torch.randn_like(buffer) * 0.3)


def m2m100():
    torch.manual_seed(21)
    # Every option at another value than its default.
    return transformers.M2M100ForConditionalGeneration(transformers.M2M100Config(
        vocab_size=89, d_model=36, encoder_layers=1, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=2, encoder_ffn_dim=37, decoder_ffn_dim=61, max_position_embeddings=40,
        activation_function="gelu", scale_embedding=False, pad_token_id=3, bos_token_id=0, eos_token_id=1,
        decoder_start_token_id=2, tie_word_embeddings=False))


def pegasus():
    torch.manual_seed(22)
    return transformers.PegasusForConditionalGeneration(transformers.PegasusConfig(
        vocab_size=83, d_model=34, encoder_layers=2, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=1, encoder_ffn_dim=53, decoder_ffn_dim=40, max_position_embeddings=36,
        activation_function="relu", scale_embedding=True, pad_token_id=0, eos_token_id=1,
        decoder_start_token_id=0, forced_eos_token_id=None))


def search(model, ids, mask, options):
    """The sequences of all sources, each computed alone, and their scores if there are beams."""
    pad = model.config.pad_token_id
    sequences, scores = [], []
    for row, seen in zip(ids, mask):
        found = model.generate(row[seen == 1][None], do_sample=False, output_scores=True,
                               return_dict_in_generate=True, **options)
        sequences += found.sequences.tolist()
        scores += found.sequences_scores.tolist() if options["num_beams"] > 1 else []
    longest = max(map(len, sequences))
    padded = [row + [pad] * (longest - len(row)) for row in sequences]
    return torch.tensor(padded, dtype=torch.int32), torch.tensor(scores, dtype=torch.float32)


def prepare(folder, model):
    """Saves the model, which never answers with padding: Transformers would not count its position."""
    model.generation_config.suppress_tokens = [model.config.pad_token_id]
    randomize(model)
    model.save_pretrained(folder)
    model.double()


def make(folder, model):
    folder.mkdir(parents=True, exist_ok=True)
    model.eval()
    config = model.config
    with torch.no_grad():
        prepare(folder, model)
        mask = torch.tensor([[int(i < n) for i in range(max(LENGTHS))] for n in LENGTHS])
        ids = torch.randint(4, config.vocab_size, mask.shape)
        ids = torch.where(mask == 1, ids, torch.tensor(config.pad_token_id))
        targets = torch.randint(4, config.vocab_size, (len(LENGTHS), TARGETS))
        targets[:, 0] = config.decoder_start_token_id
        logits = model(input_ids=ids, attention_mask=mask, decoder_input_ids=targets).logits
        tensors = {"input_ids": ids.int(), "attention_mask": mask.int(), "decoder_input_ids": targets.int(),
                   "logits": logits.float()}
        metadata = {"made_with": f"torch {torch.__version__}, transformers {transformers.__version__}"}
        for name, options in SEARCHES.items():
            tensors[f"{name}.sequences"], scores = search(model, ids, mask, options)
            if options["num_beams"] > 1:
                tensors[f"{name}.scores"] = scores
            metadata[name] = json.dumps(options)
    safetensors.torch.save_file({name: tensor.contiguous() for name, tensor in tensors.items()},
                                folder / "expected.safetensors", metadata=metadata)


def bpe():
    """A vocabulary and merges in NLLB's form: fairseq's four tokens first."""
    trained = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>"))
    trained.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    trained.train_from_iterator(CORPUS, tokenizers.trainers.BpeTrainer(
        vocab_size=120, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], show_progress=False))
    model = json.loads(trained.to_str())["model"]
    return model["vocab"], [tuple(merge) for merge in model["merges"]]


def unigram():
    trained = tokenizers.Tokenizer(tokenizers.models.Unigram())
    trained.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    trained.train_from_iterator(CORPUS, tokenizers.trainers.UnigramTrainer(
        vocab_size=90, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False))
    # Pieces of one score come in any order.
    pieces = [tuple(item) for item in json.loads(trained.to_str())["model"]["vocab"]]
    return pieces[:4] + sorted(pieces[4:], key=lambda piece: (-piece[1], piece[0]))


def nllb():
    vocabulary, merges = bpe()
    tokenizer = transformers.NllbTokenizer(vocab=vocabulary, merges=merges, extra_special_tokens=LANGUAGES,
                                           src_lang="eng_Latn")
    torch.manual_seed(23)
    model = transformers.M2M100ForConditionalGeneration(transformers.M2M100Config(
        vocab_size=len(tokenizer) + 2, d_model=40, encoder_layers=2, decoder_layers=1, encoder_attention_heads=5,
        decoder_attention_heads=4, encoder_ffn_dim=51, decoder_ffn_dim=51, max_position_embeddings=64))
    return tokenizer, model


def mbart():
    tokenizer = transformers.MBartTokenizer(vocab=unigram(), src_lang="en_XX", tgt_lang="ro_RO")
    torch.manual_seed(24)
    model = transformers.MBartForConditionalGeneration(transformers.MBartConfig(
        vocab_size=len(tokenizer), d_model=36, encoder_layers=1, decoder_layers=1, encoder_attention_heads=3,
        decoder_attention_heads=2, encoder_ffn_dim=41, decoder_ffn_dim=47, max_position_embeddings=50,
        scale_embedding=True, activation_function="relu", forced_eos_token_id=None))
    return tokenizer, model


def translate(tokenizer, model, source, target, text):
    tokenizer.src_lang = source
    ids = tokenizer(text, return_tensors="pt").input_ids
    token = tokenizer.convert_tokens_to_ids(target)
    begin = {"decoder_start_token_id": token} if isinstance(tokenizer, transformers.MBartTokenizer) else {
        "forced_bos_token_id": token}
    line = {"source_language": source, "target_language": target, "text": text, "ids": ids[0].tolist()}
    for name, beams in {"greedy": 1, "beam4": 4}.items():
        found = model.generate(ids, do_sample=False, max_new_tokens=14, num_beams=beams, num_return_sequences=1,
                               **begin)[0].tolist()
        line[name] = found[1:]
        line[f"{name}_text"] = tokenizer.decode(found, skip_special_tokens=True)
    return line


def make_texts(folder, tokenizer, model, pairs):
    folder.mkdir(parents=True, exist_ok=True)
    model.eval()
    with torch.no_grad():
        prepare(folder, model)
        tokenizer.save_pretrained(folder)
        lines = [translate(tokenizer, model, *pair, text) for pair in pairs for text in TEXTS]
    with open(folder / "texts.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    make(root / "m2m100-tiny", m2m100())
    make(root / "pegasus-tiny", pegasus())
    make_texts(root / "nllb-tiny", *nllb(), [("eng_Latn", "fra_Latn"), ("deu_Latn", "eng_Latn"),
                                             ("rus_Cyrl", "zho_Hans")])
    make_texts(root / "mbart-tiny", *mbart(), [("en_XX", "ro_RO"), ("ro_RO", "de_DE")])


if __name__ == "__main__":
    main()
