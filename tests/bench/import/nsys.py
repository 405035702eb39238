#!/usr/bin/env python3
"""Generates an export of Nsight Systems with N kernels, their launches and NVTX ranges around every hundredth.

The rows resemble an export of 2025: one process with two threads, two streams, kernels of 2 to 20 us that follow their launch.

usage: nsys.py OUT.sqlite [KERNELS]        default 10,000,000; about 1.6 GB in a minute
"""
import random
import sqlite3
import sys

COLUMNS = ("start end deviceId contextId greenContextId streamId correlationId globalPid demangledName shortName mangledName "
           "launchType cacheConfig registersPerThread gridX gridY gridZ blockX blockY blockZ staticSharedMemory "
           "dynamicSharedMemory localMemoryPerThread localMemoryTotal gridId sharedMemoryExecuted graphNodeId "
           "sharedMemoryLimitConfig").split()
PROCESS = (1 << 48) + (4321 << 24)


def rows(kernels):
    """Pairs of a kernel and its launch; the device runs behind the host."""
    shapes = [(random.randrange(1, 4096), random.choice((128, 256, 512)), random.randrange(16, 255)) for _ in range(64)]
    host = 0
    device = 0
    for i in range(kernels):
        name = i % 64
        grid, block, registers = shapes[name]
        host += 3000
        start = max(device, host + 2000)
        device = start + 2000 + name * 280
        yield ((start, device, 0, 1, None, 7 if i % 8 else 13, i + 1, PROCESS, 100 + name, 100 + name, 100 + name, 1, 0, registers,
                grid, 1, 1, block, 1, 1, 0, 16384, 0, 0, i, 32768, None, 0),
               (host, host + 2500, 0, PROCESS + (4321 if i % 16 else 4322), i + 1, 1, 0, None))
        host = max(host, device - 1_000_000)


def generate(path, kernels):
    random.seed(1)
    db = sqlite3.connect(path)
    db.executescript(f"""
        pragma journal_mode = off;
        pragma synchronous = off;
        create table StringIds (id integer not null primary key, value text not null);
        create table META_DATA_EXPORT (name text not null, value text);
        insert into META_DATA_EXPORT values ('EXPORT_PRODUCT_VERSION', '2025.1.3.140'), ('EXPORT_SCHEMA_VERSION', '3.17.2');
        create table TARGET_INFO_SESSION_START_TIME (utcEpochNs integer, utcTime text, localTime text);
        insert into TARGET_INFO_SESSION_START_TIME values (1779630014975716426, '', '');
        create table CUPTI_ACTIVITY_KIND_KERNEL ({", ".join(column + " integer" for column in COLUMNS)});
        create table CUPTI_ACTIVITY_KIND_RUNTIME (start integer not null, end integer not null, eventClass integer not null,
            globalTid integer, correlationId integer, nameId integer not null, returnValue integer not null, callchainId integer);
        create table NVTX_EVENTS (start integer not null, end integer, eventType integer not null, rangeId integer, category integer,
            color integer, text text, globalTid integer, endGlobalTid integer, textId integer, domainId integer, binaryData text);
        insert into StringIds values (1, 'cudaLaunchKernel_v7000');
    """)
    db.executemany("insert into StringIds values (?, ?)",
                   [(100 + i, f"void at::native::vectorized_elementwise_kernel<4, Functor{i}, std::array<char*, 2ul>>(int, Functor{i})")
                    for i in range(64)])
    kernel = f"insert into CUPTI_ACTIVITY_KIND_KERNEL values ({', '.join('?' * len(COLUMNS))})"
    launch = "insert into CUPTI_ACTIVITY_KIND_RUNTIME values (?, ?, ?, ?, ?, ?, ?, ?)"
    # One table after the other, like nsys, so that the pages of a table are contiguous.
    db.executemany(kernel, (pair[0] for pair in rows(kernels)))
    random.seed(1)
    db.executemany(launch, (pair[1] for pair in rows(kernels)))
    random.seed(1)
    ranges = ((pair[1][0] - 100, pair[1][0] + 100_000, 59, f"layers.{i // 100 % 48}", pair[1][3] - pair[1][3] % 2 + 1, 0)
              for i, pair in enumerate(rows(kernels)) if i % 100 == 0)
    db.executemany("insert into NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) values (?, ?, ?, ?, ?, ?)", ranges)
    db.commit()
    db.close()


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    generate(sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 10_000_000)
