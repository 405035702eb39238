#pragma once

#include "core/base/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilescope {

enum class Workload { Attention, Lm, Accumulation, Dtypes, Products, Collective };
/// Generate: the lm processes a prompt and then generates tokens one by one.
enum class Mode { Forward, Backward, Both, Train, Generate };
enum class LossKind { Sum, CrossEntropy };
/// Fp32x6: fp32, with products of the lm's weights computed from six bf16 products. Fp8: bf16, with the products of the lm's
/// layers and their input gradients in E4M3.
enum class Precision { Fp32, Tf32, Bf16, Fp16, Fp32x6, Fp8 };
enum class Backend {
    Naive,
    FlashTorch,
    Flash,
    FlashFp8,
    Sdpa,
    SdpaFlash,
    SdpaEfficient,
    SdpaCudnn,
    SdpaMath
};
enum class TraceLevel { Off, Kernels, Full };
enum class Isolation { Sweep, Process };
/// Where a step waits for the device: after each phase, or once, at its end.
enum class StepTiming { Phase, Step };
/// The tokens of the lm: independent and uniform, or a Markov chain of known entropy.
enum class TokenData { Random, Markov };
/// How the ranks of a step share its work.
enum class Parallel {
    None,
    DdpNaive,          ///< data parallel: one all-reduce per parameter after backward
    DdpFlat,           ///< data parallel: one all-reduce of all gradients after backward
    Ddp,               ///< data parallel: all-reduces of buckets of gradients during backward
    OptimizerSharding, ///< ddp; each rank updates some of the parameters and broadcasts them
    Zero1, ///< data parallel: a rank gets a shard of the gradients, updates that of the weights and gathers the rest
    Fsdp,   ///< data parallel: a rank keeps a shard of all weights, gradients and optimizer state
    Tp,     ///< each rank computes a part of the heads and of the feed-forward width
    FsdpTp, ///< fsdp between the groups of ranks that run tp
};
/// How generation keeps the keys and values of earlier tokens: one block of memory per layer, or pages.
enum class CacheKind { Contiguous, Paged };
/// The next token: the most probable one, or drawn from the probabilities.
enum class Sampling { Greedy, Seeded };
/// The number format of the weights in generation. Fp8: E4M3 with one scale per output of a product.
enum class WeightFormat { AsPrecision, Fp8 };
enum class CollectiveOp { AllReduce, AllGather, ReduceScatter, Broadcast, AllToAll };
/// The type of the elements of a collective.
enum class MessageDtype { Fp32, Bf16, Fp16 };

/// The requested device. `Auto` is CUDA if there is a GPU, otherwise the CPU.
struct DeviceRequest {
    enum class Kind { Auto, Cpu, Cuda } kind = Kind::Auto;
    std::optional<int> index = {}; ///< cuda:N

    bool operator==(const DeviceRequest&) const = default;
};

/// `none`, a CUDA graph of the step, the lm by fused kernels or compiled by TorchInductor, or a package that
/// AOTInductor made.
struct CompileRequest {
    enum class Kind { None, Graph, Fused, Inductor, Package } kind = Kind::None;
    std::string package = {}; ///< path of the .pt2 file

    /// Whether a GPU runs the step as CUDA graphs.
    bool isCaptured() const { return kind == Kind::Graph || kind == Kind::Fused || kind == Kind::Inductor; }

    bool operator==(const CompileRequest&) const = default;
};

/// Which activations of the lm are recomputed in backward.
struct Checkpointing {
    enum class Kind { None, Block, Attention, Nested } kind = Kind::None;
    /// K: block:K keeps the input of every K-th block; nested:K divides the blocks into K segments and each of
    /// them again.
    int every = 1;
    /// N of block:K+N: the last N blocks keep all their activations. 0: not given.
    int kept = 0;

    bool operator==(const Checkpointing&) const = default;
};

/// The K of checkpointing: nested.
inline constexpr int kNestedSegments = 2;

/// One experiment with every key resolved: what an engine runs as one run. A sweep is a list of these.
///
/// Keys, ranges, defaults and meanings are in core/config/schema.cpp; this is the plain record. An optional
/// without value means "auto" or "does not apply to this workload". After validation (config) every rule
/// between keys holds: heads divide d_model, kv_heads divide heads, the backend supports the head dim, and so
/// on.
struct ExperimentSpec {
    std::string name;
    Workload workload = Workload::Attention;
    DeviceRequest device = {};
    std::int64_t seed = 0;
    Mode mode = Mode::Both;
    bool grad = false;
    LossKind loss = LossKind::Sum;
    Precision precision = Precision::Fp32;
    Backend backend = Backend::Naive;
    std::int64_t batch = 8;
    int warmup = 5;
    int steps = 10;
    StepTiming timing = StepTiming::Phase;
    int traceSteps = 3;
    TraceLevel trace = TraceLevel::Kernels;
    bool memory = true;
    bool shapes = false;
    std::vector<std::string> counters = {};
    bool inside = false; ///< samples the instructions of kernels in the traced steps
    CompileRequest compile = {};
    bool deterministic = false;
    Isolation isolate = Isolation::Sweep;
    double timeoutSeconds = 600;
    int repeat = 1;                        ///< runs of this point; does not affect the work of a run
    std::optional<Bytes> memoryLimit = {}; ///< none: auto
    std::optional<int> threads = {};       ///< none: auto
    bool annotateAttention = false;

    // attention; lm uses heads too, and kvHeads in mode generate
    std::int64_t heads = 1;
    std::int64_t kvHeads = 1;
    std::int64_t headDim = 64;
    std::int64_t seqLen = 1024;
    std::int64_t kvLen = 1024;
    bool causal = true;
    int tileQ = 64;
    int tileK = 64;

    // lm
    std::string size = "small"; ///< preset name; the four numbers below are what counts
    std::int64_t dModel = 768;
    std::int64_t dFf = 3072;
    std::int64_t layers = 12;
    std::int64_t vocab = 10'000;
    std::int64_t context = 128;
    TokenData data = TokenData::Random;
    double ropeTheta = 10'000;
    Checkpointing checkpointing = {};
    // lm, mode generate; `steps` equals newTokens
    std::int64_t newTokens = 32;
    CacheKind cache = CacheKind::Contiguous;
    std::int64_t page = 16; ///< tokens; for CacheKind::Paged
    Sampling sampling = Sampling::Greedy;
    WeightFormat weights = WeightFormat::AsPrecision;
    bool check = false; ///< compares the logits with those of a forward pass in fp64

    int gpus = 1; ///< ranks; one process and one device each
    Parallel parallel = Parallel::None;
    Bytes bucket{25LL << 20}; ///< of gradients; see hasBuckets()

    // collective; it uses gpus too
    CollectiveOp op = CollectiveOp::AllReduce;
    Bytes bytes{1LL << 20}; ///< what a rank contributes
    MessageDtype messageDtype = MessageDtype::Fp32;

    bool operator==(const ExperimentSpec&) const = default;
};

} // namespace tilescope
