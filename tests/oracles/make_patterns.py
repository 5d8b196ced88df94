# SPDX-License-Identifier: Apache-2.0
"""Makes patterns.jsonl in tokenizers/: pre-tokenizers with regular expressions, and the words into which
the Hugging Face tokenizers library splits texts with them; and pairs.jsonl: ids of pairs of texts.

    python make_patterns.py FOLDER      needs tokenizers 0.23.3; the folder is this one

The same version gives the same files.
"""

import json
import pathlib
import random
import sys

import tokenizers

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
          r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s")
O200K = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
DEEPSEEK = [
    r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"]


def split(regex, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": {"Regex": regex}, "behavior": behavior, "invert": invert}


def text(string, behavior, invert=False):
    return {"type": "Split", "pattern": {"String": string}, "behavior": behavior, "invert": invert}


def sequence(*parts):
    return {"type": "Sequence", "pretokenizers": list(parts)}


BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
PARTS = [
    split(GPT2), split(LLAMA3), split(CL100K), split(O200K), sequence(split(LLAMA3), BYTES),
    sequence(*[split(part) for part in DEEPSEEK], BYTES),
    sequence({"type": "Digits", "individual_digits": True}, split(GPT2), BYTES),
    sequence({"type": "Punctuation", "behavior": "Contiguous"}, {"type": "Digits", "individual_digits": False},
             split("[0-9][0-9][0-9]")),
    split(r"<\|start\|>|<\|end\|>|'s|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+", "Removed", True),
    split(r" ?[^(\s|[.,!?…。，、।۔،])]+"), text(" ", "MergedWithPrevious"), text(" ", "MergedWithNext"),
    text("ab", "Removed"), text(" ", "Contiguous"), text(".", "Isolated"),
    text(" ", "MergedWithPrevious", True), text(" ", "MergedWithNext", True),
    split(r"\s+", "Removed"), split(r"\s+", "Removed", True), split(r"\p{N}", "Contiguous"),
    split(r"\p{Lu}", "MergedWithNext"), split(r"[.!?]", "MergedWithPrevious"),
    split(r"\s+$"), split(r"\s++$"), split(r"\w+|[^\w\s]+", "Removed", True), split(r"\d{2,}|\h{2}"),
    split(r"a{2}|a{,3}b|\x{e9}|\u6771\n?"), split(r".+?[.!?]|.+\z"), split("[a-z&&[^aeiou]]+|[^\\W\\d_]"),
    split(r"\P{L}{2}|\p{^N}\p{Sm}|[\P{M}&&\p{P}]+"), split(r"(?i)kel|k(?-i:k)|[x-z]+"), split("x(?i)a|b"),
    split(r"(a|ab)(c|bcd)?|(?:(?:x)y?)+"), split(r"(?:\p{N}{1,3}|\s{2,3}?)+"),
    {"type": "Digits", "individual_digits": True}, {"type": "Digits", "individual_digits": False},
    {"type": "Punctuation", "behavior": "Isolated"}, {"type": "Punctuation", "behavior": "MergedWithNext"},
    {"type": "Whitespace"}, {"type": "CharDelimiterSplit", "delimiter": "a"},
]
TEXTS = [
    "It's  said:\tthey'LL pay 12,345.67 €\n\n  x  \r\n y", " \n \n  a  \n ", "東京 is 東京都です。ｶﾅ 한국어 123४५६",
    "'ſ 'S K kk kK xYz KEL Kel xa xB B XB", "abcdabc xyxxy aab aaab aaaab é 東\n東", "\u00a0\u3000 \u2028x\u0085 ",
    "e\u0301e\u0301 \u200dzwj\u200d ②Ⅷ½²", "a.b?c!  d... ", "<|start|>it's<|end|>", "", " ", "  ",
    "AbCDe FGhI'S ǅǆ 𝒜𝒷 \U0001F9F5\U0001FAA1 \u0903", "1234567890", "=+x −÷"]
ALPHABET = list("  \n\t\r'aAbsSlLtT19.,!-/") + ["é", "ſ", "東", "の", "٣", "½", "\u0301", "\u3000", "🧵", "K"]


PAIRED = ["tokenizers/wordpiece", "tokenizers/bpe-bytelevel", "tokenizers/unigram-metaspace", "llama3-tiny",
          "mistral-tiny"]
PAIRS = [("Where is the cat?", "It sits on the mat, and it purrs."), ("a", ""), ("", "b c"), ("", ""),
         ("one two three four five six seven", "eight"), ("eight", "one two three four five six seven"),
         ("one two three four", "five six seven eight"), ("1234567 it's", "It'S 12")]


def write_pairs(folder):
    """Without a limit and with some that cut either text, or both."""
    with open(folder / "tokenizers" / "pairs.jsonl", "w", encoding="utf-8") as file:
        for name in PAIRED:
            tokenizer = tokenizers.Tokenizer.from_file(str(folder / name / "tokenizer.json"))
            own = tokenizer.num_special_tokens_to_add(True)
            for most in [0, *range(own + 1, own + 12)]:
                tokenizer.no_truncation()
                if most:
                    tokenizer.enable_truncation(most)
                for first, second in PAIRS:
                    encoding = tokenizer.encode(first, second)
                    file.write(json.dumps({"tokenizer": name, "most": most, "texts": [first, second],
                                           "ids": encoding.ids, "type_ids": encoding.type_ids}) + "\n")


def main():
    folder = pathlib.Path(sys.argv[1])
    write_pairs(folder)
    generator = random.Random(7)
    texts = TEXTS + ["".join(generator.choices(ALPHABET, k=generator.randint(3, 24))) for _ in range(30)]
    with open(folder / "tokenizers" / "patterns.jsonl", "w", encoding="utf-8") as file:
        for part in PARTS:
            empty = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
                     "pre_tokenizer": part, "post_processor": None, "decoder": None,
                     "model": {"type": "BPE", "vocab": {}, "merges": []}}
            steps = tokenizers.Tokenizer.from_str(json.dumps(empty)).pre_tokenizer
            words = [[each, [word for word, _ in steps.pre_tokenize_str(each)]] for each in texts]
            file.write(json.dumps({"pre_tokenizer": part, "words": words}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
