#!/usr/bin/env python3
"""The usual PyTorch way over the same kernels, for comparison: load_inline, allclose, triton's do_bench.

    gpu_bench rate transpose --count 10 --folder DIR     # writes DIR/NN.cu and DIR/fsr.json
    pytorch_compare.py DIR [--count N]

Each kernel is compiled by torch.utils.cpp_extension.load_inline, checked with torch.equal on the sizes of the task's
cases, and timed with triton.testing.do_bench at the measured size. Prints candidates an hour of both, as markdown.
"""
import argparse
import json
import pathlib
import re
import sys
import tempfile
import time

SIZES = [(64, 64), (33, 65), (1, 1000), (256, 128), (100, 257), (515, 3)]
MEASURED = (8192, 8192)

HOST = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#define ceil_div(a, b) (((a) + (b) - 1) / (b))
torch::Tensor run(torch::Tensor input) {
  const int rows = (int)input.size(0), cols = (int)input.size(1);
  auto output = torch::empty({cols, rows}, input.options());
  transpose<<<dim3 GRID, dim3 BLOCK, 0, at::cuda::getCurrentCUDAStream()>>>(
      input.data_ptr<float>(), output.data_ptr<float>(), rows, cols);
  return output;
}
"""


def parenthesised(text, start):
    """The text from the parenthesis at `start` to its partner."""
    depth = 0
    for i in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return text[start : i + 1]
    raise ValueError(f"no closing parenthesis in {text!r}")


def as_extension(source):
    """A candidate file of the transpose task as a file for load_inline: its `// fsr:` lines become a host function."""
    defines, launch = [], None
    for line in source.splitlines():
        if match := re.match(r"// fsr: tune (\w+) = (-?\d+)", line):
            defines.append(f"#define {match[1]} {match[2]}")
        elif line.startswith("// fsr: launch transpose "):
            launch = line
    grid = parenthesised(launch, launch.index("grid=") + len("grid="))
    block = parenthesised(launch, launch.index("block=") + len("block="))
    host = HOST.replace("GRID", grid).replace("BLOCK", block)
    # The tunables' names are short: they are gone before PyTorch's headers come, and back for the launch.
    undefine = "\n".join("#undef " + line.split()[1] for line in defines)
    headers, body = host.split("#define ceil_div", 1)
    return "\n".join([headers, *defines, source, "#define ceil_div" + body, undefine, ""])


def evaluate(path, torch, load_inline, do_bench):
    with tempfile.TemporaryDirectory() as folder:
        module = load_inline(
            name="candidate_" + path.stem,
            cpp_sources="torch::Tensor run(torch::Tensor input);",
            cuda_sources=as_extension(path.read_text()),
            functions=["run"],
            build_directory=folder,
            extra_cuda_cflags=["-O3"],
        )
        compiled = time.monotonic()
        right = True
        for rows, cols in [*SIZES, MEASURED]:
            data = torch.randn(rows, cols, device="cuda")
            right = right and torch.allclose(module.run(data), data.t(), rtol=0, atol=0)
        data = torch.randn(*MEASURED, device="cuda")
        milliseconds = do_bench(lambda: module.run(data), return_mode="median")
    return compiled, right, 1e3 * milliseconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="what gpu_bench rate wrote")
    parser.add_argument("--count", type=int, default=10, help="at most so many kernels (a compilation takes a minute)")
    parser.add_argument("--show-source", action="store_true", help="print the first kernel's file for load_inline, and stop")
    arguments = parser.parse_args()
    files = sorted(arguments.folder.glob("[0-9]*.cu"))[: arguments.count]
    if not files:
        sys.exit(f"pytorch_compare.py: no NN.cu in {arguments.folder}; gpu_bench rate writes them")
    if arguments.show_source:
        print(as_extension(files[0].read_text()))
        return
    try:
        import torch
        from torch.utils.cpp_extension import load_inline
        from triton.testing import do_bench
    except ImportError as error:
        sys.exit(f"pytorch_compare.py: {error}. It needs PyTorch with CUDA, Triton, ninja and nvcc.")
    if not torch.cuda.is_available():
        sys.exit("pytorch_compare.py: PyTorch sees no GPU")
    torch.randn(1, device="cuda")  # the context is not part of any candidate's time
    print("| kernel | right | time us | compile s | whole s |\n|---|---|---:|---:|---:|")
    total = 0.0
    for path in files:
        start = time.monotonic()
        compiled, right, us = evaluate(path, torch, load_inline, do_bench)
        seconds = time.monotonic() - start
        total += seconds
        print(f"| {path.name} | {right} | {us:.1f} | {compiled - start:.1f} | {seconds:.1f} |", flush=True)
    per_hour = 3600 * len(files) / total
    print(f"\nPyTorch {torch.__version__}, CUDA {torch.version.cuda}: {len(files)} kernels in {total:.1f} s, "
          f"{per_hour:.0f} candidates an hour.")
    fsr = arguments.folder / "fsr.json"
    if fsr.exists():
        ours = json.loads(fsr.read_text())["candidates_per_hour"]
        print(f"fsr: {ours:.0f} candidates an hour, {ours / per_hour:.1f} times as many.")


if __name__ == "__main__":
    main()
