#pragma once

#include <cstddef>

struct CUstream_st;

namespace tilescope::engine {

/// The functions of NCCL that ranks use, from the library that LibTorch has loaded. They are declared here,
/// because not every installation of LibTorch has nccl.h; the values are part of NCCL's binary interface.
struct NcclApi {
    struct Communicator;
    struct UniqueId {
        char internal[128];
    };
    using Stream = CUstream_st*;
    using Comm = Communicator*;
    enum Result : int { Success = 0, InProgress = 7 };
    enum DataType : int { Int8 = 0, Int64 = 4, Float16 = 6, Float32 = 7, Float64 = 8, Bfloat16 = 9 };
    enum Operation : int { Sum = 0 };

    Result (*getVersion)(int* version) = nullptr;
    Result (*getUniqueId)(UniqueId* id) = nullptr;
    Result (*commInitRank)(Comm* comm, int ranks, UniqueId id, int rank) = nullptr;
    Result (*commSplit)(Comm comm, int color, int key, Comm* part, void* config) = nullptr;
    Result (*commDestroy)(Comm comm) = nullptr;
    Result (*commAbort)(Comm comm) = nullptr;
    Result (*commGetAsyncError)(Comm comm, Result* error) = nullptr;
    const char* (*getErrorString)(Result result) = nullptr;
    const char* (*getLastError)(Comm comm) = nullptr;
    Result (*groupStart)() = nullptr;
    Result (*groupEnd)() = nullptr;
    Result (*allReduce)(const void* from, void* to, std::size_t count, DataType, Operation, Comm,
                        Stream) = nullptr;
    Result (*allGather)(const void* from, void* to, std::size_t count, DataType, Comm, Stream) = nullptr;
    Result (*reduceScatter)(const void* from, void* to, std::size_t count, DataType, Operation, Comm,
                            Stream) = nullptr;
    Result (*broadcast)(const void* from, void* to, std::size_t count, DataType, int root, Comm,
                        Stream) = nullptr;
    Result (*send)(const void* from, std::size_t count, DataType, int peer, Comm, Stream) = nullptr;
    Result (*receive)(void* to, std::size_t count, DataType, int peer, Comm, Stream) = nullptr;

    /// Looks up the functions on the first call.
    /// \throws Unsupported  there is no NCCL, or it lacks a function
    static const NcclApi& instance();
};

} // namespace tilescope::engine
