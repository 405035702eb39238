#include "core/model/text.h"

#include "core/model/attention_backend.h"
#include "core/model/cpu_instruction_set.h"
#include "core/model/point_observer.h"

#include <array>

namespace tilescope {

namespace {

template <class E> constexpr EnumWord<E> kWords[1] = {};

template <>
constexpr EnumWord<Workload> kWords<Workload>[] = {
    {Workload::Attention, "attention"},       {Workload::Lm, "lm"},
    {Workload::Accumulation, "accumulation"}, {Workload::Dtypes, "dtypes"},
    {Workload::Products, "products"},         {Workload::Collective, "collective"}};

template <>
constexpr EnumWord<Mode> kWords<Mode>[] = {{Mode::Forward, "forward"},
                                           {Mode::Backward, "backward"},
                                           {Mode::Both, "both"},
                                           {Mode::Train, "train"},
                                           {Mode::Generate, "generate"}};

template <>
constexpr EnumWord<LossKind> kWords<LossKind>[] = {{LossKind::Sum, "sum"},
                                                   {LossKind::CrossEntropy, "cross_entropy"}};

template <>
constexpr EnumWord<Precision> kWords<Precision>[] = {{Precision::Fp32, "fp32"},     {Precision::Tf32, "tf32"},
                                                     {Precision::Bf16, "bf16"},     {Precision::Fp16, "fp16"},
                                                     {Precision::Fp32x6, "fp32x6"}, {Precision::Fp8, "fp8"}};

template <>
constexpr auto kWords<Backend> = [] {
    std::array<EnumWord<Backend>, kBackendTraits.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = {kBackendTraits[i].backend, kBackendTraits[i].name};
    return all;
}();

template <>
constexpr EnumWord<TraceLevel> kWords<TraceLevel>[] = {
    {TraceLevel::Off, "off"}, {TraceLevel::Kernels, "kernels"}, {TraceLevel::Full, "full"}};

template <>
constexpr EnumWord<Isolation> kWords<Isolation>[] = {{Isolation::Sweep, "sweep"},
                                                     {Isolation::Process, "process"}};

template <>
constexpr EnumWord<StepTiming> kWords<StepTiming>[] = {{StepTiming::Phase, "phase"},
                                                       {StepTiming::Step, "step"}};

template <>
constexpr EnumWord<TokenData> kWords<TokenData>[] = {{TokenData::Random, "random"},
                                                     {TokenData::Markov, "markov"}};

template <>
constexpr EnumWord<CacheKind> kWords<CacheKind>[] = {{CacheKind::Contiguous, "contiguous"},
                                                     {CacheKind::Paged, "paged"}};

template <>
constexpr EnumWord<Sampling> kWords<Sampling>[] = {{Sampling::Greedy, "greedy"},
                                                   {Sampling::Seeded, "seeded"}};

template <>
constexpr EnumWord<WeightFormat> kWords<WeightFormat>[] = {{WeightFormat::AsPrecision, "as_precision"},
                                                           {WeightFormat::Fp8, "fp8"}};

template <>
constexpr EnumWord<Parallel> kWords<Parallel>[] = {{Parallel::None, "none"},
                                                   {Parallel::DdpNaive, "ddp-naive"},
                                                   {Parallel::DdpFlat, "ddp-flat"},
                                                   {Parallel::Ddp, "ddp"},
                                                   {Parallel::OptimizerSharding, "optimizer-sharding"},
                                                   {Parallel::Zero1, "zero1"},
                                                   {Parallel::Fsdp, "fsdp"},
                                                   {Parallel::Tp, "tp"},
                                                   {Parallel::FsdpTp, "fsdp+tp"}};

template <>
constexpr EnumWord<CollectiveOp> kWords<CollectiveOp>[] = {{CollectiveOp::AllReduce, "all_reduce"},
                                                           {CollectiveOp::AllGather, "all_gather"},
                                                           {CollectiveOp::ReduceScatter, "reduce_scatter"},
                                                           {CollectiveOp::Broadcast, "broadcast"},
                                                           {CollectiveOp::AllToAll, "all_to_all"}};

template <>
constexpr EnumWord<MessageDtype> kWords<MessageDtype>[] = {
    {MessageDtype::Fp32, "fp32"}, {MessageDtype::Bf16, "bf16"}, {MessageDtype::Fp16, "fp16"}};

template <>
constexpr EnumWord<RunStatus> kWords<RunStatus>[] = {
    {RunStatus::Running, "running"},        {RunStatus::Ok, "ok"},       {RunStatus::Oom, "oom"},
    {RunStatus::Skipped, "skipped"},        {RunStatus::Error, "error"}, {RunStatus::Cancelled, "cancelled"},
    {RunStatus::Interrupted, "interrupted"}};

template <>
constexpr EnumWord<SampleKind> kWords<SampleKind>[] = {
    {SampleKind::Warmup, "warmup"}, {SampleKind::Measure, "measure"}, {SampleKind::Trace, "trace"}};

template <>
constexpr EnumWord<Phase> kWords<Phase>[] = {
    {Phase::Step, "step"},         {Phase::Forward, "forward"},     {Phase::Loss, "loss"},
    {Phase::Backward, "backward"}, {Phase::Optimizer, "optimizer"}, {Phase::Collective, "collective"},
    {Phase::Prefill, "prefill"},   {Phase::Decode, "decode"},       {Phase::Sample, "sample"}};

template <>
constexpr EnumWord<DeviceEventKind> kWords<DeviceEventKind>[] = {{DeviceEventKind::Kernel, "kernel"},
                                                                 {DeviceEventKind::Memcpy, "memcpy"},
                                                                 {DeviceEventKind::Memset, "memset"}};

template <>
constexpr EnumWord<CopyKind> kWords<CopyKind>[] = {{CopyKind::None, "none"},
                                                   {CopyKind::HostToDevice, "host_to_device"},
                                                   {CopyKind::DeviceToHost, "device_to_host"},
                                                   {CopyKind::DeviceToDevice, "device_to_device"},
                                                   {CopyKind::HostToHost, "host_to_host"},
                                                   {CopyKind::PeerToPeer, "peer_to_peer"},
                                                   {CopyKind::Other, "other"}};

template <>
constexpr EnumWord<ApiKind> kWords<ApiKind>[] = {
    {ApiKind::Launch, "launch"}, {ApiKind::Memory, "memory"}, {ApiKind::Synchronize, "synchronize"},
    {ApiKind::Other, "other"},   {ApiKind::Wait, "wait"},     {ApiKind::Overhead, "overhead"}};

template <>
constexpr EnumWord<OpScope> kWords<OpScope>[] = {{OpScope::Function, "function"},
                                                 {OpScope::Backward, "backward"}};

template <>
constexpr EnumWord<CpuInstructionSet> kWords<CpuInstructionSet>[] = {
    {CpuInstructionSet::Sse2, "sse2"},
    {CpuInstructionSet::Avx2, "avx2"},
    {CpuInstructionSet::Avx512, "avx512"},
    {CpuInstructionSet::Avx512Bf16, "avx512_bf16"},
    {CpuInstructionSet::Avx512Fp16, "avx512_fp16"},
    {CpuInstructionSet::Amx, "amx"},
    {CpuInstructionSet::AmxFp16, "amx_fp16"}};

template <>
constexpr EnumWord<WaitKind> kWords<WaitKind>[] = {{WaitKind::Event, "event"},
                                                   {WaitKind::StreamWait, "stream_wait"},
                                                   {WaitKind::Stream, "stream"},
                                                   {WaitKind::Context, "context"}};

template <>
constexpr EnumWord<AllocAction> kWords<AllocAction>[] = {{AllocAction::Alloc, "alloc"},
                                                         {AllocAction::FreeRequested, "free_requested"},
                                                         {AllocAction::FreeCompleted, "free_completed"},
                                                         {AllocAction::SegmentAlloc, "segment_alloc"},
                                                         {AllocAction::SegmentFree, "segment_free"},
                                                         {AllocAction::SegmentMap, "segment_map"},
                                                         {AllocAction::SegmentUnmap, "segment_unmap"},
                                                         {AllocAction::Snapshot, "snapshot"},
                                                         {AllocAction::Oom, "oom"}};

template <>
constexpr EnumWord<LossSeverity> kWords<LossSeverity>[] = {
    {LossSeverity::Info, "info"}, {LossSeverity::Warning, "warning"}, {LossSeverity::Error, "error"}};

template <>
constexpr EnumWord<PointState> kWords<PointState>[] = {
    {PointState::Compile, "compile"}, {PointState::Warmup, "warmup"}, {PointState::Measure, "measure"},
    {PointState::Trace, "trace"},     {PointState::Drain, "drain"},   {PointState::Store, "store"}};

template <>
constexpr EnumWord<MemoryCategory> kWords<MemoryCategory>[] = {
    {MemoryCategory::Parameters, "parameters"},
    {MemoryCategory::Gradients, "gradients"},
    {MemoryCategory::Optimizer, "optimizer"},
    {MemoryCategory::Activations, "activations"},
    {MemoryCategory::Inputs, "inputs"},
    {MemoryCategory::Temporaries, "temporaries"},
    {MemoryCategory::Workspace, "workspace"},
    {MemoryCategory::Unattributed, "unattributed"},
    {MemoryCategory::Fragmentation, "fragmentation"},
    {MemoryCategory::ReservedFree, "reserved_free"},
    {MemoryCategory::Context, "context"}};

} // namespace

template <class E> std::span<const EnumWord<E>> enumWords()
{
    return kWords<E>;
}

template std::span<const EnumWord<Workload>> enumWords();
template std::span<const EnumWord<Mode>> enumWords();
template std::span<const EnumWord<LossKind>> enumWords();
template std::span<const EnumWord<Precision>> enumWords();
template std::span<const EnumWord<TraceLevel>> enumWords();
template std::span<const EnumWord<Isolation>> enumWords();
template std::span<const EnumWord<StepTiming>> enumWords();
template std::span<const EnumWord<TokenData>> enumWords();
template std::span<const EnumWord<CacheKind>> enumWords();
template std::span<const EnumWord<Sampling>> enumWords();
template std::span<const EnumWord<WeightFormat>> enumWords();
template std::span<const EnumWord<Parallel>> enumWords();
template std::span<const EnumWord<CollectiveOp>> enumWords();
template std::span<const EnumWord<MessageDtype>> enumWords();
template std::span<const EnumWord<RunStatus>> enumWords();
template std::span<const EnumWord<SampleKind>> enumWords();
template std::span<const EnumWord<Phase>> enumWords();
template std::span<const EnumWord<DeviceEventKind>> enumWords();
template std::span<const EnumWord<CopyKind>> enumWords();
template std::span<const EnumWord<ApiKind>> enumWords();
template std::span<const EnumWord<OpScope>> enumWords();
template std::span<const EnumWord<CpuInstructionSet>> enumWords();
template std::span<const EnumWord<WaitKind>> enumWords();
template std::span<const EnumWord<AllocAction>> enumWords();
template std::span<const EnumWord<LossSeverity>> enumWords();
template std::span<const EnumWord<PointState>> enumWords();
template std::span<const EnumWord<MemoryCategory>> enumWords();
template std::span<const EnumWord<Backend>> enumWords();

std::string toText(const DeviceRequest& device)
{
    switch (device.kind) {
    case DeviceRequest::Kind::Auto:
        return "auto";
    case DeviceRequest::Kind::Cpu:
        return "cpu";
    case DeviceRequest::Kind::Cuda:
        return device.index ? "cuda:" + std::to_string(*device.index) : "cuda";
    }
    return {};
}

std::string toText(const CompileRequest& compile)
{
    switch (compile.kind) {
    case CompileRequest::Kind::None:
        return "none";
    case CompileRequest::Kind::Graph:
        return "graph";
    case CompileRequest::Kind::Fused:
        return "fused";
    case CompileRequest::Kind::Inductor:
        return "inductor";
    case CompileRequest::Kind::Package:
        return "package:" + compile.package;
    }
    return {};
}

std::string toText(const Checkpointing& checkpointing)
{
    switch (checkpointing.kind) {
    case Checkpointing::Kind::None:
        return "none";
    case Checkpointing::Kind::Block:
        if (checkpointing.kept > 0)
            return "block:" + std::to_string(checkpointing.every) + "+" + std::to_string(checkpointing.kept);
        return checkpointing.every == 1 ? "block" : "block:" + std::to_string(checkpointing.every);
    case Checkpointing::Kind::Attention:
        return "attention";
    case Checkpointing::Kind::Nested:
        return checkpointing.every == kNestedSegments ? "nested"
                                                      : "nested:" + std::to_string(checkpointing.every);
    }
    return {};
}

} // namespace tilescope
