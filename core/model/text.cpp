#include "core/model/text.h"

#include "core/model/attention_backend.h"
#include "core/model/cpu_instruction_set.h"
#include "core/model/point_observer.h"

#include <array>

namespace tilescope {

template <> std::span<const EnumWord<Workload>> enumWords()
{
    static constexpr EnumWord<Workload> words[] = {
        {Workload::Attention, "attention"},       {Workload::Lm, "lm"},
        {Workload::Accumulation, "accumulation"}, {Workload::Dtypes, "dtypes"},
        {Workload::Products, "products"},         {Workload::Collective, "collective"}};
    return words;
}

template <> std::span<const EnumWord<Mode>> enumWords()
{
    static constexpr EnumWord<Mode> words[] = {{Mode::Forward, "forward"},
                                               {Mode::Backward, "backward"},
                                               {Mode::Both, "both"},
                                               {Mode::Train, "train"}};
    return words;
}

template <> std::span<const EnumWord<LossKind>> enumWords()
{
    static constexpr EnumWord<LossKind> words[] = {{LossKind::Sum, "sum"},
                                                   {LossKind::CrossEntropy, "cross_entropy"}};
    return words;
}

template <> std::span<const EnumWord<Precision>> enumWords()
{
    static constexpr EnumWord<Precision> words[] = {{Precision::Fp32, "fp32"},     {Precision::Tf32, "tf32"},
                                                    {Precision::Bf16, "bf16"},     {Precision::Fp16, "fp16"},
                                                    {Precision::Fp32x6, "fp32x6"}, {Precision::Fp8, "fp8"}};
    return words;
}

template <> std::span<const EnumWord<Backend>> enumWords()
{
    static constexpr auto words = [] {
        std::array<EnumWord<Backend>, kBackendTraits.size()> all{};
        for (std::size_t i = 0; i < all.size(); ++i)
            all[i] = {kBackendTraits[i].backend, kBackendTraits[i].name};
        return all;
    }();
    return words;
}

template <> std::span<const EnumWord<TraceLevel>> enumWords()
{
    static constexpr EnumWord<TraceLevel> words[] = {
        {TraceLevel::Off, "off"}, {TraceLevel::Kernels, "kernels"}, {TraceLevel::Full, "full"}};
    return words;
}

template <> std::span<const EnumWord<Isolation>> enumWords()
{
    static constexpr EnumWord<Isolation> words[] = {{Isolation::Sweep, "sweep"},
                                                    {Isolation::Process, "process"}};
    return words;
}

template <> std::span<const EnumWord<StepTiming>> enumWords()
{
    static constexpr EnumWord<StepTiming> words[] = {{StepTiming::Phase, "phase"},
                                                     {StepTiming::Step, "step"}};
    return words;
}

template <> std::span<const EnumWord<TokenData>> enumWords()
{
    static constexpr EnumWord<TokenData> words[] = {{TokenData::Random, "random"},
                                                    {TokenData::Markov, "markov"}};
    return words;
}

template <> std::span<const EnumWord<Parallel>> enumWords()
{
    static constexpr EnumWord<Parallel> words[] = {{Parallel::None, "none"},
                                                   {Parallel::DdpNaive, "ddp-naive"},
                                                   {Parallel::DdpFlat, "ddp-flat"},
                                                   {Parallel::Ddp, "ddp"},
                                                   {Parallel::OptimizerSharding, "optimizer-sharding"},
                                                   {Parallel::Zero1, "zero1"},
                                                   {Parallel::Fsdp, "fsdp"},
                                                   {Parallel::Tp, "tp"},
                                                   {Parallel::FsdpTp, "fsdp+tp"}};
    return words;
}

template <> std::span<const EnumWord<CollectiveOp>> enumWords()
{
    static constexpr EnumWord<CollectiveOp> words[] = {{CollectiveOp::AllReduce, "all_reduce"},
                                                       {CollectiveOp::AllGather, "all_gather"},
                                                       {CollectiveOp::ReduceScatter, "reduce_scatter"},
                                                       {CollectiveOp::Broadcast, "broadcast"},
                                                       {CollectiveOp::AllToAll, "all_to_all"}};
    return words;
}

template <> std::span<const EnumWord<MessageDtype>> enumWords()
{
    static constexpr EnumWord<MessageDtype> words[] = {
        {MessageDtype::Fp32, "fp32"}, {MessageDtype::Bf16, "bf16"}, {MessageDtype::Fp16, "fp16"}};
    return words;
}

template <> std::span<const EnumWord<RunStatus>> enumWords()
{
    static constexpr EnumWord<RunStatus> words[] = {{RunStatus::Running, "running"},
                                                    {RunStatus::Ok, "ok"},
                                                    {RunStatus::Oom, "oom"},
                                                    {RunStatus::Skipped, "skipped"},
                                                    {RunStatus::Error, "error"},
                                                    {RunStatus::Cancelled, "cancelled"},
                                                    {RunStatus::Interrupted, "interrupted"}};
    return words;
}

template <> std::span<const EnumWord<SampleKind>> enumWords()
{
    static constexpr EnumWord<SampleKind> words[] = {
        {SampleKind::Warmup, "warmup"}, {SampleKind::Measure, "measure"}, {SampleKind::Trace, "trace"}};
    return words;
}

template <> std::span<const EnumWord<Phase>> enumWords()
{
    static constexpr EnumWord<Phase> words[] = {
        {Phase::Step, "step"},         {Phase::Forward, "forward"},     {Phase::Loss, "loss"},
        {Phase::Backward, "backward"}, {Phase::Optimizer, "optimizer"}, {Phase::Collective, "collective"}};
    return words;
}

template <> std::span<const EnumWord<DeviceEventKind>> enumWords()
{
    static constexpr EnumWord<DeviceEventKind> words[] = {{DeviceEventKind::Kernel, "kernel"},
                                                          {DeviceEventKind::Memcpy, "memcpy"},
                                                          {DeviceEventKind::Memset, "memset"}};
    return words;
}

template <> std::span<const EnumWord<CopyKind>> enumWords()
{
    static constexpr EnumWord<CopyKind> words[] = {{CopyKind::None, "none"},
                                                   {CopyKind::HostToDevice, "host_to_device"},
                                                   {CopyKind::DeviceToHost, "device_to_host"},
                                                   {CopyKind::DeviceToDevice, "device_to_device"},
                                                   {CopyKind::HostToHost, "host_to_host"},
                                                   {CopyKind::PeerToPeer, "peer_to_peer"},
                                                   {CopyKind::Other, "other"}};
    return words;
}

template <> std::span<const EnumWord<ApiKind>> enumWords()
{
    static constexpr EnumWord<ApiKind> words[] = {
        {ApiKind::Launch, "launch"}, {ApiKind::Memory, "memory"}, {ApiKind::Synchronize, "synchronize"},
        {ApiKind::Other, "other"},   {ApiKind::Wait, "wait"},     {ApiKind::Overhead, "overhead"}};
    return words;
}

template <> std::span<const EnumWord<OpScope>> enumWords()
{
    static constexpr EnumWord<OpScope> words[] = {{OpScope::Function, "function"},
                                                  {OpScope::Backward, "backward"}};
    return words;
}

template <> std::span<const EnumWord<CpuInstructionSet>> enumWords()
{
    static constexpr EnumWord<CpuInstructionSet> words[] = {
        {CpuInstructionSet::Sse2, "sse2"},     {CpuInstructionSet::Avx2, "avx2"},
        {CpuInstructionSet::Avx512, "avx512"}, {CpuInstructionSet::Avx512Bf16, "avx512_bf16"},
        {CpuInstructionSet::Amx, "amx"},       {CpuInstructionSet::AmxFp16, "amx_fp16"}};
    return words;
}

template <> std::span<const EnumWord<WaitKind>> enumWords()
{
    static constexpr EnumWord<WaitKind> words[] = {{WaitKind::Event, "event"},
                                                   {WaitKind::StreamWait, "stream_wait"},
                                                   {WaitKind::Stream, "stream"},
                                                   {WaitKind::Context, "context"}};
    return words;
}

template <> std::span<const EnumWord<AllocAction>> enumWords()
{
    static constexpr EnumWord<AllocAction> words[] = {{AllocAction::Alloc, "alloc"},
                                                      {AllocAction::FreeRequested, "free_requested"},
                                                      {AllocAction::FreeCompleted, "free_completed"},
                                                      {AllocAction::SegmentAlloc, "segment_alloc"},
                                                      {AllocAction::SegmentFree, "segment_free"},
                                                      {AllocAction::SegmentMap, "segment_map"},
                                                      {AllocAction::SegmentUnmap, "segment_unmap"},
                                                      {AllocAction::Snapshot, "snapshot"},
                                                      {AllocAction::Oom, "oom"}};
    return words;
}

template <> std::span<const EnumWord<LossSeverity>> enumWords()
{
    static constexpr EnumWord<LossSeverity> words[] = {
        {LossSeverity::Info, "info"}, {LossSeverity::Warning, "warning"}, {LossSeverity::Error, "error"}};
    return words;
}

template <> std::span<const EnumWord<PointState>> enumWords()
{
    static constexpr EnumWord<PointState> words[] = {
        {PointState::Compile, "compile"}, {PointState::Warmup, "warmup"}, {PointState::Measure, "measure"},
        {PointState::Trace, "trace"},     {PointState::Drain, "drain"},   {PointState::Store, "store"}};
    return words;
}

template <> std::span<const EnumWord<MemoryCategory>> enumWords()
{
    static constexpr EnumWord<MemoryCategory> words[] = {{MemoryCategory::Parameters, "parameters"},
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
    return words;
}

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
