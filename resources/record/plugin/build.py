"""Compiles the recorder's plug-in for the PyTorch of this Python: build.py FOLDER.

Needs a C++17 compiler (CXX, otherwise c++) and the headers of PyTorch; those of CUDA's runtime for the memory of GPUs,
from the packages nvidia-cuda-runtime or from CUDA_HOME.
"""
import glob
import os
import shutil
import subprocess
import sys


def fail(sentence):
    sys.stderr.write("tilescope record --build-plugin: " + sentence + "\n")
    raise SystemExit(4)


def cuda_headers(site):
    candidates = [os.path.join(os.environ[name], "include") for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ]
    candidates += sorted(glob.glob(os.path.join(site, "nvidia", "*", "include")))
    candidates += ["/usr/local/cuda/include"]
    return next((folder for folder in candidates if os.path.exists(os.path.join(folder, "cuda_runtime_api.h"))), None)


def main():
    here, folder = os.path.dirname(os.path.abspath(__file__)), sys.argv[1]
    # PYTHONPATH may name the folder of the bootstrap.
    try:
        import torch
    except ImportError as error:
        fail("%s has no PyTorch: %s; name the Python that has: tilescope record --build-plugin -- PYTHON"
             % (sys.executable, error))
    root = os.path.dirname(os.path.abspath(torch.__file__))
    headers = [os.path.join(root, "include"), os.path.join(root, "include", "torch", "csrc", "api", "include")]
    if not os.path.isdir(headers[1]):
        fail("%s has no headers of PyTorch; install the package torch" % root)
    cuda = cuda_headers(os.path.dirname(root)) if torch.version.cuda else None
    if cuda:
        headers.append(cuda)
    compiler = os.environ.get("CXX") or "c++"
    if not shutil.which(compiler.split()[0]):
        fail("there is no C++ compiler; install g++, or name one in CXX")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    target = os.path.join(folder, "tilescope_torch-%s.so" % torch.__version__)
    partial = "%s.%d" % (target, os.getpid())
    standard = "20" if int(torch.__version__.split(".")[1]) >= 9 else "17"
    # PyTorch is compiled with NDEBUG; classes of its headers have other members without it.
    # Options in CXX come later than -O2, which they may replace.
    program, *options = compiler.split()
    command = [program, "-std=c++" + standard, "-O2", "-DNDEBUG", "-fPIC", "-shared", "-fvisibility=hidden"] + options
    command += ["-D_GLIBCXX_USE_CXX11_ABI=%d" % torch._C._GLIBCXX_USE_CXX11_ABI, "-DTILESCOPE_WITH_CUDA=%d" % bool(cuda)]
    command += ["-I" + here] + [word for path in headers for word in ("-isystem", path)]
    # One translation unit parses PyTorch's headers once.
    for part in sorted(glob.glob(os.path.join(here, "core", "trace", "host", "*.cpp"))):
        command += ["-include", part]
    command.append(os.path.join(here, "plugin.cpp"))
    command += ["-L" + os.path.join(root, "lib"), "-ltorch_cpu", "-lc10", "-Wl,--allow-shlib-undefined", "-o", partial]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode != 0:
        sys.stderr.write(result.stdout.decode(errors="replace"))
        fail("%s could not compile the plug-in; its messages are above" % compiler)
    os.chmod(partial, 0o700)
    os.replace(partial, target)
    without = "" if cuda else " (without the memory of GPUs: no headers of CUDA's runtime were found)"
    print("plug-in for PyTorch %s: %s%s" % (torch.__version__, target, without if torch.version.cuda else ""))


main()
