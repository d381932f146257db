"""Builds the CUDA runtime without a device for the libraries of one Python environment."""
from __future__ import annotations

import fcntl
import hashlib
import os
import re
import subprocess
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "runtime"
NAME = "libcuda.so.1"

#: What answers in place of NVRTC: torch opens it by its name.
NVRTC = SOURCES / "nvrtc.cpp"

#: CUDA 12's packages lack crt/host_defines.h, which gives meaning to these words; on the host they mean nothing.
EMPTY_WORDS = ("host", "device", "global", "shared", "constant", "managed", "device_builtin", "device_builtin_texture_type",
               "device_builtin_surface_type", "cudart_builtin")
HOST_DEFINES = "".join(f"#define __{word}__\n" for word in EMPTY_WORDS) + """\
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __forceinline__ __inline__ __attribute__((always_inline))
#define CUDARTAPI
#define CUDARTAPI_CDECL
"""

#: Files of an environment that import entry points of CUDA's runtime, driver and BLAS.
IMPORTERS = ("torch/lib/libtorch*.so", "torch/lib/libc10_cuda.so", "torch/lib/libcaffe2_nvrtc.so",
             "bitsandbytes/libbitsandbytes_cuda1*.so")
#: Triton compiles its driver interface when it is first used; its source says what it needs.
TRITON_DRIVER = "triton/backends/nvidia/driver.c"
ENTRY_POINT = re.compile(r"^(__cuda|cuda[A-Z]|cublas|cu[A-Z]|nccl[A-Z])")


def run(*command: object) -> str:
    """The output of a program that must succeed."""
    return subprocess.run([str(word) for word in command], check=True, text=True, stdout=subprocess.PIPE,
                          env={**os.environ, "LC_ALL": "C"}).stdout


def symbols(file: Path, *options: str) -> set[str]:
    """The names that `nm` lists of a file, without their versions."""
    return {line.split()[0].split("@")[0] for line in run("nm", "-P", *options, file).splitlines()}


def imported(site: Path) -> set[str]:
    """Every entry point of CUDA and NCCL that the environment's libraries ask for."""
    names: set[str] = set()
    for pattern in IMPORTERS:
        for library in site.glob(pattern):
            names |= symbols(library, "-D", "--undefined-only")
    driver = site / TRITON_DRIVER
    if driver.exists():
        names |= set(re.findall(r"\bcu[A-Z]\w*", driver.read_text()))
    return {name for name in names if ENTRY_POINT.match(name) and not name.startswith("cuFile")}


def includes(site: Path) -> list[str]:
    """CUDA 13's packages have one folder of headers, CUDA 12's one for each library."""
    folders = [*site.glob("nvidia/cu1*/include"), site / "nvidia/cuda_runtime/include", site / "nvidia/cublas/include"]
    return [f"-I{folder}" for folder in folders if folder.is_dir()]


def build_nvrtc(site: Path, out: Path) -> None:
    """A library of the name that the environment's NVRTC has: whoever opens that one finds this one loaded."""
    for theirs in [*site.glob("nvidia/*/lib/libnvrtc.so.*")][:1]:
        run("g++", "-std=c++20", "-O1", "-fPIC", "-shared", f"-Wl,-soname,{theirs.name}", "-Wl,--default-symver", NVRTC, "-o", out / theirs.name)


def build(site: Path, out: Path) -> None:
    """Compiles the runtime; what it does not define does nothing and reports success."""
    (out / "include/crt").mkdir(parents=True, exist_ok=True)
    (out / "include/crt/host_defines.h").write_text(HOST_DEFINES)
    objects = []
    for source in sorted(SOURCES.glob("*.cpp")):
        if source == NVRTC:
            continue
        objects.append(out / f"{source.stem}.o")
        run("g++", "-std=c++20", "-O1", "-fPIC", "-fvisibility=hidden", *includes(site), "-isystem", out / "include", "-c", source,
            "-o", objects[-1])
    defined = set().union(*(symbols(file, "--defined-only") for file in objects))
    nothing = out / "nothing.c"
    nothing.write_text("".join(f"int {name}() {{ return 0; }}\n" for name in sorted(imported(site) - defined)))
    run("gcc", "-O1", "-fPIC", "-fno-builtin", "-c", nothing, "-o", out / "nothing.o")
    made = out / f"{NAME}.new"
    run("g++", "-shared", f"-Wl,-soname,{NAME}", "-o", made, *objects, out / "nothing.o")
    link = out / "libcuda.so"  # for Triton's -lcuda
    link.unlink(missing_ok=True)
    link.symlink_to(NAME)
    build_nvrtc(site, out)
    made.rename(out / NAME)


def site_packages(python: str) -> Path:
    """Where the environment of this interpreter keeps its libraries."""
    return Path(run(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").strip())


def preloaded(library: Path) -> str:
    """What stands before the environment's own libraries."""
    return ":".join(str(file) for file in [library, *library.parent.glob("libnvrtc.so.*")])


def runtime_for(python: str, cache: Path | None = None) -> Path:
    """The runtime's library for an environment, built if it is missing or older than its sources."""
    site = site_packages(python)
    root = cache or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vramfit-trace"
    out = root / hashlib.sha256(str(site).encode()).hexdigest()[:12]
    library = out / NAME
    newest = max(source.stat().st_mtime for source in SOURCES.iterdir())
    out.mkdir(parents=True, exist_ok=True)
    with (out / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tracers that start together build it once
        if not library.exists() or library.stat().st_mtime < newest:
            build(site, out)
    return library
