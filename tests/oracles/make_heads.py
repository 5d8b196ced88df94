# SPDX-License-Identifier: Apache-2.0
"""Makes models with classifiers: random ones of odd sizes, saved as Hugging Face transformers saves them, and
their scores, computed in float64 from the stored float32 weights. bert-pairs/ is a cross-encoder with a
tokenizer: pairs.jsonl has texts, and how well each answers its query.

    python make_heads.py FOLDER      needs torch, transformers, tokenizers and safetensors; the folder is this one

The same versions give the same files.
"""

import json
import pathlib
import shutil
import sys

import safetensors.torch
import tokenizers
import torch
import transformers

from make_tiny import LENGTHS, randomize

QUERY = "Where is the cat?"
TEXTS = ["It sits on the mat.", "Stocks fell.", "", "The cat is where the dog was, and where nobody looks for it at all.",
         "where where where", "Cats"]


def models():
    """Name, model and the id that fills rows after a sequence."""
    torch.manual_seed(11)
    yield "bert-tags", transformers.BertForTokenClassification(transformers.BertConfig(
        vocab_size=97, hidden_size=36, num_hidden_layers=1, num_attention_heads=3, intermediate_size=50,
        max_position_embeddings=19, id2label={0: "O", 1: "B-PER", 2: "I-PER", 3: "B-\u6771", 4: "I-\u6771"})), 0
    torch.manual_seed(12)
    yield "distilbert-labels", transformers.DistilBertForSequenceClassification(transformers.DistilBertConfig(
        vocab_size=83, dim=44, n_layers=1, n_heads=2, hidden_dim=61, max_position_embeddings=23, num_labels=3,
        problem_type="multi_label_classification")), 0
    torch.manual_seed(13)
    yield "xlm-roberta-labels", transformers.XLMRobertaForSequenceClassification(transformers.XLMRobertaConfig(
        vocab_size=89, hidden_size=40, num_hidden_layers=1, num_attention_heads=5, intermediate_size=52,
        max_position_embeddings=31, type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=1,
        id2label={0: "no", 1: "yes"})), 1
    # Every option at another value than its default.
    torch.manual_seed(15)
    yield "modernbert-labels", transformers.ModernBertForSequenceClassification(transformers.ModernBertConfig(
        vocab_size=79, hidden_size=36, num_hidden_layers=3, num_attention_heads=3, intermediate_size=41,
        hidden_activation="silu", norm_eps=1e-4, norm_bias=True, attention_bias=True, mlp_bias=True,
        local_attention=5, layer_types=["sliding_attention", "full_attention", "sliding_attention"],
        rope_parameters={"full_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 900.0},
                         "sliding_attention": {"rope_type": "default", "rope_theta": 70.0}},
        classifier_pooling="mean", classifier_bias=True, classifier_activation="relu", num_labels=4,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)), 0
    torch.manual_seed(16)
    yield "modernbert-tags", transformers.ModernBertForTokenClassification(transformers.ModernBertConfig(
        vocab_size=73, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37,
        local_attention=4, id2label={0: "O", 1: "X", 2: "Y"}, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        cls_token_id=1, sep_token_id=2)), 0


def make(folder, model, filler):
    folder.mkdir(parents=True, exist_ok=True)
    model.eval()
    with torch.no_grad():
        randomize(model)
        model.save_pretrained(folder)
        mask = torch.tensor([[int(i < n) for i in range(max(LENGTHS))] for n in LENGTHS])
        ids = torch.randint(3, model.config.vocab_size, mask.shape)
        ids = torch.where(mask == 1, ids, torch.tensor(filler))
        logits = model.double()(input_ids=ids, attention_mask=mask).logits
    if logits.dim() == 3:
        logits = logits * mask[:, :, None]
    tensors = {"input_ids": ids.int(), "attention_mask": mask.int(), "logits": logits.float()}
    versions = {"made_with": f"torch {torch.__version__}, transformers {transformers.__version__}"}
    safetensors.torch.save_file({name: tensor.contiguous() for name, tensor in tensors.items()},
                                folder / "expected.safetensors", metadata=versions)


def make_pairs(root):
    """A BERT whose token types tell the query from the text; long pairs are cut at its positions."""
    folder = root / "bert-pairs"
    tokenizer = tokenizers.Tokenizer.from_file(str(root / "tokenizers" / "wordpiece" / "tokenizer.json"))
    torch.manual_seed(14)
    config = transformers.BertConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=32, num_hidden_layers=1, num_attention_heads=4,
        intermediate_size=44, max_position_embeddings=22, num_labels=1)
    model = transformers.BertForSequenceClassification(config).eval()
    tokenizer.enable_truncation(config.max_position_embeddings)
    with torch.no_grad():
        randomize(model)
        model.save_pretrained(folder)
        shutil.copy(root / "tokenizers" / "wordpiece" / "tokenizer.json", folder)
        model.double()
        with open(folder / "pairs.jsonl", "w", encoding="utf-8") as file:
            for text in TEXTS:
                encoding = tokenizer.encode(QUERY, text)
                score = model(input_ids=torch.tensor([encoding.ids]),
                              token_type_ids=torch.tensor([encoding.type_ids])).logits
                file.write(json.dumps({"query": QUERY, "text": text, "score": score.item()}) + "\n")


def main():
    root = pathlib.Path(sys.argv[1])
    for name, model, filler in models():
        make(root / name, model, filler)
    make_pairs(root)


if __name__ == "__main__":
    main()
