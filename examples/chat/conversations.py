#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws conversations about Heddle's commands: what people ask, and the right answer.

    conversations.py --seed 1 --count 5      one a line, as {"messages": [{"role", "content"}, ...]}

A conversation asks for a command, then perhaps changes it ("and with 4 threads?"), asks a question
about Heddle, or says something else. Names of files are drawn letter by letter, so that a model must
read them.
"""

import argparse
import json
import random

# Options: how an answer writes them, their values, what they do, how people ask for them in a
# question and after one.
OPTIONS = {
    "precision": ("--precision {}", ["bf16", "int8", "int4", "int8-weights", "bf16-weights"], {
        "bf16": "Weights and operands of products are bf16; sums stay f32.",
        "int8": "Weights are 8-bit integers, and products multiply integers.",
        "int4": "Matrices have 4 bits a weight, in groups of 32.",
        "int8-weights": "Weights are 8-bit integers; products compute in f32.",
        "bf16-weights": "Weights are bf16; products compute in f32."},
        ["in {}", "with {}", "as {}", "in {} precision", "with precision {}"]),
    "cache": ("--cache {}", ["bf16", "int8"], {
        "bf16": "Keys and values of earlier tokens are kept in bf16.",
        "int8": "Keys and values of earlier tokens are kept in 8 bits."},
        ["with an {} cache", "and keep the cache in {}", "with keys and values in {}"]),
    "report": ("--report={}", ["why.html", "why.json"],
               "The report names what each pass took or declined, and why.",
               ["with a report in {}", "and write the report to {}", "and tell me why in {}"]),
    "target": ("--target={}", ["x86-64-v3", "x86-64-v4", "x86-64-v3,sm_80"], {
        "x86-64-v3": "Code for processors with AVX2.",
        "x86-64-v4": "Code for processors with AVX-512.",
        "x86-64-v3,sm_80": "Code for processors and for NVIDIA GPUs since Ampere."},
        ["for {}", "for the target {}", "targeting {}"]),
    "beam": ("--beam {}", ["2", "3", "4", "5", "6", "8"],
             "The search follows so many hypotheses; 1 is greedy.",
             ["with {} beams", "with beam {}", "with a beam of {}", "using beam search of width {}"]),
    "sample": ("--sample --temperature {}", ["0.5", "0.7", "0.8", "1.2"],
               "Tokens are drawn; the same seed gives the same text.",
               ["and sample at temperature {}", "with temperature {}", "sampling with {}"]),
    "max": ("--max-length {}", ["10", "20", "50", "64", "100", "200"],
            "An answer ends after so many tokens at the latest.",
            ["with at most {} tokens", "up to {} tokens", "and stop after {} tokens"]),
    "threads": ("--threads {}", ["2", "3", "4", "6", "8", "12", "16"],
                "The result has the same bits with any number of threads.",
                ["with {} threads", "on {} threads", "using {} threads", "on {} cores"]),
    "device": ("--device={}", ["cuda", "cuda:1", "auto"], {
        "cuda": "Runs on the first NVIDIA GPU.",
        "cuda:1": "Runs on the second NVIDIA GPU.",
        "auto": "Runs on a GPU if there is one, else on the CPU."},
        ["on {}", "with device {}", "on the device {}"]),
}

RUN = ["threads", "device"]
# Commands: what an answer writes ({m} is a model folder or a binary, {o} the binary's name, {f} a
# file of texts), what it does, the options people ask for, and questions.
COMMANDS = {
    "compile": ("heddlec {m} -o {o}.so", "m", "Compiles the model to one binary.",
                ["precision", "cache", "report", "target"],
                ["how do i compile {m}", "compile {m}", "i want to build {m}", "make a binary of {m}",
                 "turn {m} into a binary", "how can i compile the model {m}", "please compile {m}"]),
    "embed": ("heddle embed {o}.so --input {f} --output vectors.npy", "of",
              "Writes one embedding for each line.", RUN,
              ["how do i embed {f} with {o}.so", "embed {f} with {o}.so", "embeddings of {f} with {o}.so",
               "i need sentence vectors of {f} from {o}.so", "vectors for {f} using {o}.so"]),
    "generate": ("heddle generate {o}.so --input {f}", "of", "Answers each line.",
                 ["beam", "sample", "max", *RUN],
                 ["how do i translate {f} with {o}.so", "translate {f} with {o}.so",
                  "generate answers for {f} with {o}.so", "run {o}.so on {f}", "let {o}.so answer {f}"]),
    "score": ("heddle score {o}.so --source {f} --target {t}", "oft",
              "Prints the log-probability of every target.", RUN,
              ["score {t} as translations of {f} with {o}.so", "how likely is {t} given {f} in {o}.so",
               "log-probabilities of {t} for the sources {f} with {o}.so"]),
    "bench": ("heddle bench {o}.so", "o", "Measures how fast the model runs.", RUN,
              ["how fast is {o}.so", "benchmark {o}.so", "measure the speed of {o}.so", "bench {o}.so",
               "time {o}.so"]),
    "profile": ("heddle profile {o}.so", "o", "Says where the time goes, dispatch by dispatch.",
                ["threads"],
                ["where does {o}.so spend its time", "profile {o}.so", "what is slow in {o}.so",
                 "where does the time go in {o}.so"]),
    "info": ("heddle info {o}.so", "o", "Shows what is inside: entries, shapes, targets, memory.", [],
             ["what is in {o}.so", "show me {o}.so", "what is inside {o}.so", "describe {o}.so",
              "which precision has {o}.so"]),
    "verify": ("heddle verify {o}.so", "o", "Checks the structure and all checksums.", [],
               ["is {o}.so damaged", "verify {o}.so", "check {o}.so for damage", "is the file {o}.so intact"]),
    "tokenize": ("heddle tokenize {o}.so --input {f}", "of", "Prints the token ids of each line.", [],
                 ["tokenize {f} with {o}.so", "token ids of {f} with {o}.so", "how does {o}.so split {f}"]),
    "compare": ("heddle compare {o}.so {p}.so --input {f}", "opf",
                "Says what one costs beside the other, and how far results differ.", ["threads"],
                ["compare {o}.so and {p}.so on {f}", "what does {p}.so lose against {o}.so on {f}",
                 "how do {o}.so and {p}.so differ on {f}"]),
    "analyze": ("heddle analyze {o}.so --input {f}", "of", "Says which layers attend alike.", [],
                ["which layers of {o}.so are alike on {f}", "analyze {o}.so with {f}",
                 "can layers of {o}.so share attention on {f}"]),
    "chat": ("heddle chat {o}.so", "o", "A conversation in the terminal; Ctrl-C stops an answer.", [],
             ["chat with {o}.so", "how do i talk to {o}.so", "start a conversation with {o}.so"]),
}

# Questions with one answer.
FACTS = [
    (["what is heddle", "what does heddle do", "tell me about heddle", "explain heddle"],
     "Heddle compiles Transformer models, and variants that you invent, to fast programs."),
    (["who are you", "what are you", "what can you do", "help", "what do you know"],
     "A small model that knows Heddle's commands. Ask how to compile, run or measure a model."),
    (["hello", "hi", "hey", "good morning", "hello there"], "Hello. What would you like to do with Heddle?"),
    (["thanks", "thank you", "great, thanks", "thank you very much"], "You are welcome."),
    (["bye", "goodbye", "see you", "that is all"], "Goodbye."),
    (["which models can heddle compile", "what model families are there", "which models are supported",
      "can you compile bert", "does it support llama"],
     "BERT-like encoders, encoder-decoders such as Marian, BART and T5, and decoder-only models."),
    (["which precisions are there", "what precisions can i choose", "list the precisions",
      "which number formats are there"],
     "f32, bf16-weights, int8-weights, bf16, int8, int8-g128 and int4. The default is f32."),
    (["which phases can i print", "how do i see the ir", "show me the ir of a model", "how do i look at the program",
      "what is --emit"],
     "heddlec MODEL --emit=PHASE prints the program after model, fused, dataflow, kernels, llvm or asm."),
    (["how do i switch a pass off", "can i disable a pass", "turn off a pass", "how do i leave a pass out"],
     "heddlec MODEL -o m.so --disable-pass=NAME leaves that pass out."),
    (["why was my attention not fused", "why was it not fused", "how do i see what was fused",
      "what did the passes do"],
     "heddlec MODEL --report=why.html names every candidate and the first condition that failed."),
    (["is the result the same in every batch", "does the batch change results", "are results deterministic",
      "do threads change the result", "is it reproducible"],
     "Yes: the same sentence has the same bits, whatever runs beside it."),
    (["can i read gguf files", "does heddle read gguf", "how do i compile a gguf file", "what about gguf"],
     "Yes: heddlec model.gguf -o m.so."),
    (["how do i install heddle", "how do i set it up", "how do i build heddle", "where do i start"],
     "./dev demo sets the machine up, builds the programs and runs two models."),
    (["how do i run the tests", "run all tests", "where are the tests"], "./dev test runs everything that CI runs."),
    (["how do i use it from python", "is there a python package", "python", "can i use heddle in python"],
     "pip install . in the clone, then heddle.load(\"m.so\") and encode, translate or generate."),
    (["how do i use it from c++", "is there a c++ interface", "can i call it from c"],
     "Include heddle/Session.h in C++ or heddle/heddle.h in C; find_package(heddle) has the flags."),
    (["what do the exit codes mean", "which exit codes are there", "what does exit code 2 mean"],
     "0: all is well. 1: some input was at fault. 2: the command line was."),
    (["how do i read from standard input", "can i pipe text in", "does it read stdin"],
     "--input - reads standard input, one text a line."),
    (["does heddle train models", "can i train a model", "how do i train"],
     "Heddle does not train models yet; it compiles and runs them."),
    (["does it run on gpus", "can i use a gpu", "is there gpu code", "how do i run on a gpu"],
     "Compile with --target=x86-64-v3,sm_80, run with --device=cuda."),
    (["what happens with a bad line", "what if a line is too long", "a line is not utf-8, what now"],
     "That line gets an error, the others go on, and the exit code is 1."),
    (["is it safe to load a binary", "can i trust a compiled model", "are binaries safe"],
     "Loading a binary runs its code: trust it as you would any shared library."),
    (["where is the documentation", "is there a manual", "where can i read more"],
     "README.md has a table of pages; heddle COMMAND --help explains the options."),
    (["how do i share attention", "can layers share attention", "how do i let layers share attention"],
     "heddlec MODEL -o m.so --share-attention=self:2 lets pairs of layers share; compare what it costs."),
]
UNKNOWN = "I only know Heddle's commands. Ask how to compile, run or measure a model."
OTHER_WORDS = ("what who where when why is are can tell me about the a weather dog cat moon president "
               "football recipe cake paris music film how old tall deep sing story joke number city car "
               "tree love money stock price today tomorrow yesterday your favourite colour write poem").split()
LEADS = ["", "", "", "please ", "hey, ", "can you tell me: ", "ok, ", "hi! "]
FOLLOWS = ["and {}", "now {}", "the same {}", "{}", "what about {}", "again {}", "ok, but {}"]
FOLDERS = ["", "", "models/", "build/", "../", "~/", "data/"]
STEMS = ["bert", "minilm", "opus", "model", "llama", "small", "base", "qwen", "t5", "dates", "my-model",
         "m", "mistral", "gemma", "encoder", "texts", "lines", "page", "sentences", "input", "test",
         "out", "german", "english", "news", "old", "words", "questions"]
SYSTEM = "You answer questions about Heddle's commands."


def word(rng):
    """A name as people give files."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    name = rng.choice(STEMS) if rng.random() < 0.6 else "".join(
        rng.choice(letters) for _ in range(rng.randint(1, 6)))
    if rng.random() < 0.3:
        name += rng.choice("-_") + rng.choice(["v2", "de", "en", "x", "large", "2", "tiny", "new"])
    return name


def names(rng):
    model = word(rng)
    suffix = rng.choice(["", "", "", ".gguf", ".mlir"])
    other = word(rng)
    while other == model:
        other = word(rng)
    return {"m": rng.choice(FOLDERS) + model + suffix, "o": model, "p": other,
            "f": word(rng) + rng.choice([".txt", ".txt", ".jsonl"]), "t": word(rng) + ".txt"}


def spoken(rng, text, ends="?"):
    """As people type it: with or without a capital and an end."""
    text = rng.choice(LEADS) + text
    if rng.random() < 0.3:
        text = text[0].upper() + text[1:]
    return text + (rng.choice(["", ends, "."]) if rng.random() < 0.7 else "")


def explained(option, value):
    does = OPTIONS[option][2]
    return does[value] if isinstance(does, dict) else does


class Command:
    """What was asked for so far."""

    def __init__(self, rng):
        self.kind = rng.choice(list(COMMANDS))
        self.names, self.options = names(rng), {}

    def answer(self, last):
        line, _, does, order, _ = COMMANDS[self.kind]
        words = [line.format(**self.names)]
        words += [OPTIONS[option][0].format(self.options[option]) for option in order
                  if option in self.options]
        return " ".join(words) + "\n" + (explained(last, self.options[last]) if last else does)

    def phrase(self, rng, option):
        """An option drawn anew, as people ask for it."""
        _, values, _, phrases = OPTIONS[option]
        fresh = [value for value in values if value != self.options.get(option)]
        self.options[option] = rng.choice(fresh)
        return rng.choice(phrases).format(self.options[option])

    def question(self, rng):
        """The first question and its answer."""
        text = rng.choice(COMMANDS[self.kind][4]).format(**self.names)
        possible, last = COMMANDS[self.kind][3], None
        if possible and rng.random() < 0.5:
            for option in rng.sample(possible, 2 if len(possible) > 1 and rng.random() < 0.3 else 1):
                text += " " + self.phrase(rng, option)
                last = option
        return spoken(rng, text), self.answer(last)

    def follow(self, rng):
        """A change of the command and its answer; none where it has no options."""
        possible = COMMANDS[self.kind][3]
        if not possible:
            return None
        option = rng.choice(possible)
        phrase = self.phrase(rng, option).removeprefix("and ")
        return spoken(rng, rng.choice(FOLLOWS).format(phrase)), self.answer(option)


def fact(rng):
    questions, answer = rng.choice(FACTS)
    return spoken(rng, rng.choice(questions)), answer


def other(rng):
    words = [rng.choice(OTHER_WORDS) for _ in range(rng.randint(2, 8))]
    return spoken(rng, " ".join(words)), UNKNOWN


def conversation(rng):
    """Pairs of a question and its answer."""
    command, turns = None, []
    for _ in range(rng.choice([1, 1, 1, 1, 2, 2, 3])):
        draw = rng.random()
        turn = None
        if command and draw < 0.5:
            turn = command.follow(rng)
        if turn is None and draw < 0.75:
            command = Command(rng)
            turn = command.question(rng)
        turns.append(turn or (fact(rng) if draw < 0.93 else other(rng)))
    return turns


def messages(rng):
    """A conversation as a chat template takes it."""
    found = [{"role": "system", "content": SYSTEM}] if rng.random() < 0.1 else []
    for question, answer in conversation(rng):
        found += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    for _ in range(options.count):
        print(json.dumps({"messages": messages(rng)}, ensure_ascii=False))


if __name__ == "__main__":
    main()
