#!/usr/bin/env python3
"""The training step of skipless beside what a user would pick instead, in turn in one run (scripts/bench_peers.sh).

    .venv/bin/python scripts/bench_peers.py build/release/skipless [--block sas_p] [--layers 6 --width 384 --heads 6] [--context 128]
        [--tokens 2048] [--vocabulary 4096] [--precision fp32|fp16|bf16] [--rounds 7] [--steps 3] [--no-compile] [--json FILE]
        [--device cuda]

The peers (scripts/peer_models.py): the block in plain PyTorch with T x T matrices in the authors' formula, the same around
scaled_dot_product_attention, and for pre_ln Hugging Face's GPT-2; each eager and under torch.compile, each with PyTorch's default
and with the "medium" fp32 precision, which takes another library for the matrix products. All train the same shapes on random
tokens: forward, backward, clipping at 1, fused AdamW. Every contender is a process of its own that waits while another one works;
a round asks each in turn for --steps steps and takes the median. Ratios are medians over rounds. Memory: the most resident memory
of the process above that before its model was made; on a card, what was allocated there. Without a program ('-') the peers run
alone. On a card a step's time is that between two events in its stream, and a peer without memory for it is left out.
"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SHAPES = ("layers", "width", "heads", "vocabulary", "context", "tokens", "steps")


def resident_bytes():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def work_as_peer(arguments):
    """Answers each line of standard input with the times of a few steps."""
    import torch

    import peer_models

    name, switch, mode = arguments.peer.split("/")
    torch.set_float32_matmul_precision("medium" if switch == "medium" else "highest")
    torch.manual_seed(0)
    on_cpu = arguments.device == "cpu"
    half = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(arguments.precision)
    before = resident_bytes()
    model = peer_models.make(name, arguments.block, arguments.layers, arguments.width, arguments.heads, arguments.vocabulary,
                             arguments.context).to(arguments.device)
    loss_of = torch.compile(model) if mode == "compile" else model
    groups = [{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": 0.1},
              {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-5, fused=True)
    scaler = torch.amp.GradScaler(arguments.device.split(":")[0], enabled=arguments.precision == "fp16")
    ids = torch.randint(arguments.vocabulary, (arguments.tokens // arguments.context, arguments.context)).to(arguments.device)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(arguments.device.split(":")[0], half, enabled=half is not None):
            loss = loss_of(ids)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()

    def milliseconds():
        if on_cpu:
            begin = time.perf_counter()
            step()
            return 1000 * (time.perf_counter() - begin)
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        step()
        end.record()
        return begin, end

    for _ in range(3):
        step()
    if on_cpu:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    else:
        torch.cuda.synchronize()
        peak = torch.cuda.max_memory_allocated()
    for _ in sys.stdin:
        times = [milliseconds() for _ in range(arguments.steps)]
        if not on_cpu:
            torch.cuda.synchronize()
            times = [begin.elapsed_time(end) for begin, end in times]
        print(json.dumps([{"step_ms": statistics.median(times), "peak_bytes": peak}]), flush=True)


class Ended(Exception):
    """A contender is gone."""


class Contender:
    """A process that takes steps when it is asked."""

    def __init__(self, name, command):
        self.name, self.times, self.peak, self.floor = name, [], 0, []
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "OMP_WAIT_POLICY": "passive"})

    def round(self, count=True):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Ended(f"{self.name} ended with code {self.process.wait()}")
        answer = json.loads(line)[0]
        if count:
            self.times.append(answer["step_ms"])
            self.peak = answer["peak_bytes"]
            self.floor.append(answer.get("floor_ms"))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def our_command(arguments):
    config = {"model.n_layer": arguments.layers, "model.d_model": arguments.width, "model.n_head": arguments.heads,
              "model.vocab_size": arguments.vocabulary, "model.context_length": arguments.context,
              "train.batch_size": arguments.tokens // arguments.context}
    return [arguments.skipless, "bench", str(HERE.parent / "configs/quickstart.yaml"), *(f"{k}={v}" for k, v in config.items()),
            "--blocks", arguments.block, "--precision", arguments.precision, "--steps", str(arguments.steps), "--on-request",
            "--device", arguments.device]


def contenders(arguments):
    names = ["matrices", "sdpa"] + (["hf_gpt2"] if arguments.block == "pre_ln" else [])
    switches = ["default", "medium"] if arguments.precision == "fp32" else ["default"]
    modes = ["eager"] if arguments.no_compile else ["eager", "compile"]
    if arguments.skipless != "-":
        yield Contender("skipless", our_command(arguments))
    shapes = [part for key in SHAPES for part in (f"--{key}", str(getattr(arguments, key)))]
    for name in names:
        for switch in switches:
            for mode in modes:
                peer = f"{name}/{switch}/{mode}"
                yield Contender(peer, [sys.executable, __file__, arguments.skipless, "--peer", peer, "--block", arguments.block,
                                       "--precision", arguments.precision, "--device", arguments.device, *shapes])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("skipless")
    parser.add_argument("--block", default="sas_p", choices=("pre_ln", "sas", "sas_p"))
    for name, default in (("layers", 6), ("width", 384), ("heads", 6), ("context", 128), ("tokens", 2048), ("vocabulary", 4096),
                          ("rounds", 7), ("steps", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--precision", default="fp32", choices=("fp32", "fp16", "bf16"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.tokens % arguments.context:
        parser.error("--tokens must be a multiple of --context")
    if arguments.peer:
        return work_as_peer(arguments)

    running, left_out = [], []
    try:
        for contender in contenders(arguments):
            try:
                contender.round(count=False)  # one after the other: compiling needs the machine too
                running.append(contender)
            except Ended as error:
                if arguments.device == "cpu":
                    raise
                left_out.append(str(error))
        for _ in range(arguments.rounds):
            for contender in running:
                contender.round()
    except Ended as error:
        sys.exit(f"bench_peers: {error}")
    finally:
        for contender in running:
            contender.close()
    ours = running[0] if running and running[0].name == "skipless" else None
    print(f"{arguments.block}, {arguments.layers} x {arguments.width}, {arguments.heads} heads, vocabulary {arguments.vocabulary}, "
          f"{arguments.tokens} tokens a step, T {arguments.context}, {arguments.precision}\n\n"
          f"| | tokens/s | ms/step | skipless is faster by | peak MiB |\n|---|---:|---:|---:|---:|")
    for contender in running:
        middle = statistics.median(contender.times)
        ratio = f"{statistics.median(theirs / own for theirs, own in zip(contender.times, ours.times)):.2f}" if ours else ""
        print(f"| {contender.name} | {1000 * arguments.tokens / middle:,.0f} | {middle:.1f} ({min(contender.times):.1f} - "
              f"{max(contender.times):.1f}) | {ratio} | {contender.peak / 2**20:,.0f} |")
    for reason in left_out:
        print(f"\nleft out: {reason}")
    if ours:
        print(f"\nshare of the floor: {statistics.median(f / s for f, s in zip(ours.floor, ours.times)):.3f}")
    if arguments.json:
        result = {c.name: {"step_ms": c.times, "peak_bytes": c.peak} for c in running}
        pathlib.Path(arguments.json).write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
