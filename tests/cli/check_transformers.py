"""What `skipless convert --to` writes, read by transformers and safetensors: same logits, same text, same bits.

Trains two models for some steps, exports them, and compares with GPT2LMHeadModel: no key missing or left over, the loss of a
text as `skipless eval --text` says it, greedy text as `skipless generate` writes it. What transformers saves comes back through
`skipless convert` as the same bytes. The authors' format, which transformers does not know, is read by safetensors and comes
back as the same bytes too. BERTs that transformers makes come back through a run as the same bits: masked language models, and an
encoder alone; the head of a classifier is kept beside the run. `skipless fill` shows the probabilities of BertForMaskedLM.

Usage: check_transformers.py PROGRAM
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from safetensors import safe_open
from tokenizers import Tokenizer
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification, BertModel, GPT2LMHeadModel

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.argv[1]).resolve()
# float32 sums of a few hundred terms in another order, relative to a loss of order 5.
TOLERANCE = 2e-6
GPT2 = (
    "model: {block: pre_ln, n_layer: 2, d_model: 32, n_head: 4, vocab_size: 4096, vocab_multiple: 64, context_length: 64, "
    "n_positions: 96, norm: layer_norm, activation: gelu_tanh, "
    "bias: {value: true, projection: true, feed_forward: true}}\n"
)
SAS = "model: {block: sas, n_layer: 2, d_model: 32, n_head: 4, vocab_size: 4096, context_length: 64}\n"
TRAINING = (
    "data: {folder: data}\n"
    "train: {steps: 30, batch_size: 8, lr: 0.01, warmup_steps: 5, eval_every: 0, save_every: 0, threads: 1}\n"
)
PROMPT = "def f_1(x"


def skipless(*arguments):
    command = [PROGRAM, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert result.returncode == 0, f"{command}: {result.stderr}"
    return result.stdout


def prepare():
    Path("source").mkdir()
    for document in range(8):
        lines = [f"def f_{i * 7 % 13}(x, y):\n    return x * {i} + y - {document * i % 17}\n" for i in range(80)]
        Path(f"source/part_{document}.py").write_text("\n".join(lines))
    skipless("prepare", "source", "--tokenizer", ROOT / "data/tokenizers/python_4096", "--out", "data")


def train(name, model):
    Path(f"{name}.yaml").write_text(model + TRAINING)
    skipless("train", f"{name}.yaml", "--run", name)


def check_header(file):
    length = int.from_bytes(file.read_bytes()[:8], "little")
    text = file.read_bytes()[8 : 8 + length]
    header = json.loads(text)
    assert header.pop("__metadata__")["format"] == "pt"
    assert length % 8 == 0 and text.rstrip(b" ").endswith(b"}")
    offsets = sorted(entry["data_offsets"] for entry in header.values())
    assert offsets[0][0] == 0 and all(a[1] == b[0] for a, b in zip(offsets, offsets[1:]))
    assert offsets[-1][1] == file.stat().st_size - 8 - length


def check_loss(model, tokenizer):
    text = Path("source/part_0.py").read_text()[:120]
    Path("text.py").write_text(text)
    ids = torch.tensor([tokenizer.encode(text).ids])
    assert 2 < ids.shape[1] <= 64
    ours = json.loads(skipless("eval", "gpt2", "--text", "text.py", "--json"))
    assert ours["predicted_tokens"] == ids.shape[1] - 1
    theirs = model(ids, labels=ids).loss.item()
    assert abs(ours["loss"] - theirs) < TOLERANCE * theirs, (ours["loss"], theirs)


def check_text(model, tokenizer):
    ids = tokenizer.encode(PROMPT).ids
    out = model.generate(torch.tensor([ids]), max_new_tokens=40, do_sample=False, pad_token_id=0)
    ours = skipless("generate", "gpt2", "--prompt", PROMPT, "--no-echo", "--temperature", 0, "--max-tokens", 40)
    assert ours == tokenizer.decode(out[0][len(ids) :].tolist()) + "\n", ours


def same_file(a, b):
    assert a.read_bytes() == b.read_bytes(), f"{a} and {b} differ"


def check_gpt2():
    train("gpt2", GPT2)
    skipless("convert", "gpt2", "exported", "--to", "gpt2")
    check_header(Path("exported/model.safetensors"))
    model, loading = GPT2LMHeadModel.from_pretrained("exported", output_loading_info=True)
    assert not any(loading.values()), loading
    assert model.config.tie_word_embeddings and model.lm_head.weight is model.transformer.wte.weight
    assert model.lm_head.weight.shape == (4096, 32)
    model.eval()
    tokenizer = Tokenizer.from_file("exported/tokenizer.json")
    with torch.no_grad():
        check_loss(model, tokenizer)
        check_text(model, tokenizer)
    model.save_pretrained("saved")
    skipless("convert", "saved", "back")
    skipless("convert", "back", "again", "--to", "gpt2")
    same_file(Path("exported/model.safetensors"), Path("again/model.safetensors"))


def check_authors():
    train("sas", SAS)
    skipless("convert", "sas", "authors", "--to", "authors")
    check_header(Path("authors/model.safetensors"))
    with safe_open("authors/model.safetensors", framework="pt") as file:
        names = set(file.keys())
        assert file.get_tensor("transformer.h.0.attn.attn_mat_skip_gain").shape == (1, 4, 1, 1)
    assert "lm_head.weight" not in names and not any(name.startswith("const/") for name in names)
    skipless("convert", "authors", "sas_back")
    skipless("convert", "sas_back", "authors_again", "--to", "authors")
    same_file(Path("authors/model.safetensors"), Path("authors_again/model.safetensors"))
    losses = [json.loads(skipless("eval", run, "--text", "source", "--json"))["loss"] for run in ("sas", "sas_back")]
    assert abs(losses[0] - losses[1]) < TOLERANCE * losses[0], losses  # their batches have other sizes


def bert_config(**changes):
    return BertConfig(
        vocab_size=97, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=24, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **changes,
    )


def check_same_model(cls, folder, original, inputs):
    """What is read from `folder` has all of cls, nothing else, and computes the same bits."""
    model, loading = cls.from_pretrained(folder, output_loading_info=True)
    assert not any(loading.values()), loading
    model.eval()
    with torch.no_grad():
        assert torch.equal(model(**inputs)[0], original(**inputs)[0])


def check_fill(name, model, logits):
    """The probabilities that fill shows are those of `logits`, a function of the ids, for each mask."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(5, 97))]
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.normal_()
    model.save_pretrained(f"{name}_hf")
    Path(f"{name}_hf/vocab.txt").write_text("\n".join(words) + "\n")
    skipless("convert", f"{name}_hf", f"{name}_run")
    text = "w7 [MASK] w96 w5 [MASK] w50 w7 w8 [MASK]"
    ids = torch.tensor([[words.index(word) for word in text.split()]])
    with torch.no_grad():
        expected = logits(ids).double().softmax(-1)[0][ids[0] == words.index("[MASK]")]
    lines = skipless("fill", f"{name}_run", text, "--top", 97).splitlines()
    assert len(lines) == len(expected) == 3, lines
    for line, probabilities in zip(lines, expected):
        shown = re.findall(r"  (\S+) (\d\.\d{4})", line)
        assert len(shown) == 97, line
        for word, probability in shown:
            assert abs(float(probability) - probabilities[words.index(word)].item()) < 5.1e-5, (word, probability)
        assert words.index(shown[0][0]) == probabilities.argmax(), line


def check_fills():
    torch.manual_seed(2)
    # Weights so large that the probabilities differ by far more than their rounding to four digits.
    model = BertForMaskedLM(bert_config(initializer_range=0.3)).eval()
    check_fill("fill", model, lambda ids: model(ids).logits)
    encoder = BertModel(bert_config(initializer_range=0.3), add_pooling_layer=False).eval()
    embedding = encoder.embeddings.word_embeddings.weight
    check_fill("fill_encoder", encoder, lambda ids: encoder(ids)[0] @ embedding.T)


def check_bert():
    torch.manual_seed(1)
    inputs = dict(
        input_ids=torch.randint(1, 97, (3, 20)),
        attention_mask=(torch.arange(20)[None] < torch.tensor([[20], [13], [1]])).long(),
        token_type_ids=torch.randint(0, 2, (3, 20)),
    )
    for tied in (True, False):
        name = f"bert_{tied}"
        original = BertForMaskedLM(bert_config(tie_word_embeddings=tied)).eval()
        with torch.no_grad():
            original.cls.predictions.decoder.bias.normal_()
        original.save_pretrained(f"{name}_hf")
        skipless("convert", f"{name}_hf", f"{name}_run")
        skipless("convert", f"{name}_run", f"{name}_back", "--to", "bert")
        check_header(Path(f"{name}_back/model.safetensors"))
        check_same_model(BertForMaskedLM, f"{name}_back", original, inputs)
    encoder = BertModel(bert_config(), add_pooling_layer=False).eval()
    encoder.save_pretrained("encoder_hf")
    skipless("convert", "encoder_hf", "encoder_run")
    skipless("convert", "encoder_run", "encoder_back", "--to", "bert")
    read = BertModel.from_pretrained("encoder_back", add_pooling_layer=False).eval()
    with torch.no_grad():
        assert torch.equal(read(**inputs)[0], encoder(**inputs)[0])
    labels = {0: "entailment", 1: "neutral", 2: "contradiction"}
    classifier = BertForSequenceClassification(bert_config(num_labels=3, id2label=labels))
    classifier.save_pretrained("classifier_hf")
    said = skipless("convert", "classifier_hf", "classifier_run")
    assert "its head for sequences is in head.safetensors" in said, said
    with safe_open("classifier_run/head.safetensors", framework="pt") as file:
        assert json.loads(file.metadata()["labels"]) == list(labels.values())
        assert torch.equal(file.get_tensor("head_w_2"), classifier.classifier.weight)
        assert torch.equal(file.get_tensor("head_w_1"), classifier.bert.pooler.dense.weight)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    torch.set_num_threads(1)
    prepare()
    check_gpt2()
    check_authors()
    check_bert()
    check_fills()
    os.chdir(ROOT)
print("transformers and safetensors read what convert writes")
