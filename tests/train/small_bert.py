"""A BERT with random values in transformers' format, with the tokenizer of data/tokenizers/english_8192."""
import pathlib
import shutil

import torch
import transformers

ROOT = pathlib.Path(__file__).resolve().parents[2]


def write_small_bert(folder):
    folder.mkdir()
    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=8192, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                                     intermediate_size=64, max_position_embeddings=64)
    transformers.BertModel(config).save_pretrained(folder)
    shutil.copy(ROOT / "data/tokenizers/english_8192/tokenizer.json", folder)
