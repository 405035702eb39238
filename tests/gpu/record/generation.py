#!/usr/bin/env python3
"""Records programs that generate text with Transformers and checks the iterations that `show FILE generation` finds.

usage: generation.py --tilescope PROGRAM [--device cpu|cuda] [--only NAMES] [--keep FOLDER]

Programs: dynamic (a cache that grows), static (cache_implementation="static"), compiled (static, and Transformers compiles the decode
iteration with CUDA graphs), sampled (dynamic, do_sample), evaluate (calls on whole texts, no generation). Each is run as
`python generation.py --program NAME DEVICE` too. Needs transformers. Exit status 1 where the table is not what the program does.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

BATCH, PROMPTS = 4, ((128, 8), (96, 64))  # tokens of a prompt, new tokens


def program(name, device):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    sizes = dict(hidden_size=768, intermediate_size=2048, num_hidden_layers=8) if device == "cuda" else dict(
        hidden_size=128, intermediate_size=256, num_hidden_layers=2)
    model = LlamaForCausalLM(LlamaConfig(vocab_size=8192, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=1024,
                                         **sizes)).to(device).eval()
    how = {"pad_token_id": 0, "do_sample": name == "sampled"}
    if name in ("static", "compiled"):
        how["cache_implementation"] = "static"
    if name == "static":
        how["disable_compile"] = True
    with torch.no_grad():
        for prompt, new in PROMPTS:
            text = torch.randint(0, 8192, (BATCH, prompt), device=device)
            if name == "evaluate":
                for _ in range(6):
                    model(text)
            else:
                model.generate(text, max_new_tokens=new, min_new_tokens=new, **how)
    print("done")


def offences(name, rows):
    if name == "evaluate":
        return [f"{len(rows)} iterations of a program that does not generate"] if rows else []
    wrong = []
    wanted = [(kind, prompt + place) for prompt, new in PROMPTS
              for place, kind in enumerate(["prefill"] + ["decode"] * (new - 1))]
    found = [(row["type"], row["context"]) for row in rows]
    if found != wanted:
        wrong.append(f"{len(found)} iterations instead of {len(wanted)}; first difference: "
                     f"{next(((i, a, b) for i, (a, b) in enumerate(zip(found, wanted)) if a != b), None)}")
    wrong += [f"iteration {row['iteration']}: batch {row['batch']}" for row in rows if row["batch"] != BATCH][:3]
    for row in rows:
        if row["gpu_ns"] is not None and (row["gpu_ns"] + row["host_ns"] != row["wall_ns"] or row["gpu_ns"] != sum(
                row[part] for part in ("attention_ns", "products_ns", "sampling_ns", "other_ns", "communication_ns", "copies_ns"))):
            wrong.append(f"iteration {row['iteration']}: parts do not add up")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tilescope")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", default="dynamic,static,compiled,sampled,evaluate")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--program", nargs=2, metavar=("NAME", "DEVICE"))
    options = parser.parse_args()
    if options.program:
        program(*options.program)
        return 0
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only.split(","):
            file = pathlib.Path(folder) / f"{name}.tscope"
            recorded = subprocess.run([options.tilescope, "record", "-o", str(file), "--", sys.executable, __file__, "--program", name,
                                       options.device], capture_output=True, text=True, check=False)
            shown = subprocess.run([options.tilescope, "show", str(file), "generation", "--format", "json"], capture_output=True,
                                   text=True, check=False)
            text = subprocess.run([options.tilescope, "show", str(file), "generation", "--group", "type"], capture_output=True, text=True,
                                  check=False).stdout
            if recorded.returncode != 0 or shown.returncode != 0:
                wrong = [(recorded.stderr + shown.stderr)[-800:]]
            else:
                wrong = offences(name, json.loads(shown.stdout))
            print(f"{name}: {'; '.join(wrong) or 'right'}\n{text}", flush=True)
            failed += bool(wrong)
            if options.keep and file.exists():
                shutil.copy(file, options.keep)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
