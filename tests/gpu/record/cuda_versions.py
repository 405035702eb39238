#!/usr/bin/env python3
"""Records launches, copies and memsets of CUDA runtimes of several versions and compares with what the program did.

usage: cuda_versions.py --tilescope PROGRAM FOLDER...
       cuda_versions.py --program FOLDER FATBIN

Each FOLDER is named after a version and holds the libraries of the wheels nvidia-cuda-runtime and nvidia-cuda-cupti of it:
nvidia/cuda_runtime/lib/libcudart.so.* and nvidia/cuda_cupti/lib/libcupti.so.*. The kernel is compiled by the nvcc that is found; it is
registered with, and launched by, the runtime of the folder. Needs a GPU. Exit status 1 if a version differs or was not recorded.
"""

import argparse
import ctypes
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = 'extern "C" __global__ void increase(int* values, int count)\n' \
         "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < count) values[i] += 1; }\n"
COUNT = 1 << 16
BYTES = 4 * COUNT
LAUNCHES, TO_DEVICE, TO_HOST, IN_DEVICE, MEMSETS = 1000, 40, 30, 20, 50


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


class Wrapper(ctypes.Structure):
    """What __cudaRegisterFatBinary takes; its layout is the same from CUDA 4 on."""
    _fields_ = [("magic", ctypes.c_int), ("version", ctypes.c_int), ("data", ctypes.c_void_p), ("unused", ctypes.c_void_p)]


def program(folder, fatbin):
    """Prints the version of its runtime and driver and whether the values are those of the launches."""
    runtime = ctypes.CDLL(glob.glob(folder + "/nvidia/cuda_runtime/lib/libcudart.so.*")[0])

    def must(status, what):
        if status != 0:
            runtime.cudaGetErrorString.restype = ctypes.c_char_p
            raise SystemExit(f"{what}: {runtime.cudaGetErrorString(status).decode()}")

    code = ctypes.create_string_buffer(pathlib.Path(fatbin).read_bytes())
    wrapper = Wrapper(0x466243B1, 1, ctypes.addressof(code), None)
    register = getattr(runtime, "__cudaRegisterFatBinary")
    register.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(register(ctypes.byref(wrapper)))
    increase = ctypes.c_void_p(ctypes.addressof(ctypes.create_string_buffer(16)))
    none = ctypes.c_void_p()
    getattr(runtime, "__cudaRegisterFunction")(handle, increase, b"increase", b"increase", ctypes.c_int(-1), none, none, none, none, none)
    getattr(runtime, "__cudaRegisterFatBinaryEnd")(handle)

    values, other = ctypes.c_void_p(), ctypes.c_void_p()
    must(runtime.cudaMalloc(ctypes.byref(values), ctypes.c_size_t(BYTES)), "cudaMalloc")
    must(runtime.cudaMalloc(ctypes.byref(other), ctypes.c_size_t(BYTES)), "cudaMalloc")
    stream = ctypes.c_void_p()
    must(runtime.cudaStreamCreate(ctypes.byref(stream)), "cudaStreamCreate")
    host = (ctypes.c_int * COUNT)()
    size = ctypes.c_size_t(BYTES)
    for turn in range(MEMSETS):
        must(runtime.cudaMemsetAsync(values if turn == 0 else other, 0, size, stream), "cudaMemsetAsync")
    count = ctypes.c_int(COUNT)
    arguments = (ctypes.c_void_p * 2)(ctypes.addressof(values), ctypes.addressof(count))
    for _ in range(LAUNCHES):
        must(runtime.cudaLaunchKernel(increase, Dim3(COUNT // 256, 1, 1), Dim3(256, 1, 1), arguments, ctypes.c_size_t(0), stream),
             "cudaLaunchKernel")
    for _ in range(TO_HOST):
        must(runtime.cudaMemcpyAsync(host, values, size, 2, stream), "cudaMemcpyAsync to the host")
    for _ in range(IN_DEVICE):
        must(runtime.cudaMemcpyAsync(other, values, size, 3, stream), "cudaMemcpyAsync in the device")
    must(runtime.cudaStreamSynchronize(stream), "cudaStreamSynchronize")
    right = all(value == LAUNCHES for value in host)
    for _ in range(TO_DEVICE):
        must(runtime.cudaMemcpy(values, host, size, 1), "cudaMemcpy to the device")
    must(runtime.cudaDeviceSynchronize(), "cudaDeviceSynchronize")
    versions = [ctypes.c_int(), ctypes.c_int()]
    runtime.cudaRuntimeGetVersion(ctypes.byref(versions[0]))
    runtime.cudaDriverGetVersion(ctypes.byref(versions[1]))
    print(json.dumps({"runtime": versions[0].value, "driver": versions[1].value, "values right": right}), flush=True)


def record(tilescope, folder, fatbin, work):
    """What differs between the version's program and its recording, as sentences, and what was found."""
    words = [sys.executable, os.path.abspath(__file__), "--program", folder, str(fatbin)]
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    bare = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    file = work / (pathlib.Path(folder).name + ".tscope")
    recorded = subprocess.run([tilescope, "record", "-o", str(file), "--", *words], capture_output=True, text=True, env=environment,
                              check=False)
    wrong = []
    if (bare.stdout, bare.returncode) != (recorded.stdout, recorded.returncode) or '"values right": true' not in bare.stdout:
        wrong.append(f"bare {bare.returncode} {bare.stdout}{bare.stderr} recorded {recorded.returncode} {recorded.stdout}{recorded.stderr}")

    def query(*what):
        done = subprocess.run([tilescope, *what, "--format", "json"], capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else []

    found = {"launches": query("sql", str(file), "select count(*) as count from kernels where name = 'increase'"),
             "copies": query("sql", str(file), "select kind, direction, count(*) as count, sum(bytes) as bytes, count(distinct stream)"
                                               " as streams from copies group by 1, 2 order by 1, 2")}
    counts = {"launches": found["launches"][0]["count"] if found["launches"] else 0}
    for row in found["copies"]:
        counts["memset" if row["kind"] == "memset" else row["direction"]] = row["count"]
        if row["bytes"] != row["count"] * BYTES:
            wrong.append(f"bytes of {row}")
    wanted = {"launches": LAUNCHES, "host_to_device": TO_DEVICE, "device_to_host": TO_HOST, "device_to_device": IN_DEVICE,
              "memset": MEMSETS}
    if counts != wanted:
        wrong.append(f"{counts} instead of {wanted}")
    losses = query("show", str(file), "losses")
    versions = {fact["key"]: fact["value"] for fact in query("show", str(file), "environment")}
    verified = subprocess.run([tilescope, "verify", str(file)], capture_output=True, text=True, check=False)
    if verified.returncode != 0:
        wrong.append(verified.stdout + verified.stderr)
    if losses:
        wrong.append("losses " + json.dumps(losses))
    said = [line for line in recorded.stderr.splitlines() if line.startswith("tilescope record:")]
    return wrong, {"program": bare.stdout.strip(), "cupti": versions, "found": found, "said": said}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tilescope")
    options.add_argument("--program", action="store_true")
    options.add_argument("arguments", nargs="+")
    options = options.parse_args()
    if options.program:
        program(*options.arguments)
        return 0
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        (work / "increase.cu").write_text(SOURCE)
        subprocess.run(["nvcc", "-fatbin", "-no-compress", "-arch=compute_75", "-o", str(work / "increase.fatbin"), str(work / "increase.cu")], check=True)
        for folder in options.arguments:
            wrong, found = record(os.path.abspath(options.tilescope), os.path.abspath(folder), work / "increase.fatbin", work)
            print(pathlib.Path(folder).name, "DIFFERS" if wrong else "equal", json.dumps(found), *wrong, sep="\n    ", flush=True)
            failed += bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
