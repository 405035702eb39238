#include "core/model/text.h"

#include <array>

namespace tilescope {

template <> std::span<const EnumWord<Workload>> enumWords()
{
    static constexpr std::array words{EnumWord{Workload::Attention, std::string_view("attention")},
                                      EnumWord{Workload::Lm, std::string_view("lm")},
                                      EnumWord{Workload::Accumulation, std::string_view("accumulation")},
                                      EnumWord{Workload::Dtypes, std::string_view("dtypes")}};
    return words;
}

template <> std::span<const EnumWord<Mode>> enumWords()
{
    static constexpr std::array words{EnumWord{Mode::Forward, std::string_view("forward")},
                                      EnumWord{Mode::Backward, std::string_view("backward")},
                                      EnumWord{Mode::Both, std::string_view("both")},
                                      EnumWord{Mode::Train, std::string_view("train")}};
    return words;
}

template <> std::span<const EnumWord<LossKind>> enumWords()
{
    static constexpr std::array words{EnumWord{LossKind::Sum, std::string_view("sum")},
                                      EnumWord{LossKind::CrossEntropy, std::string_view("cross_entropy")}};
    return words;
}

template <> std::span<const EnumWord<Precision>> enumWords()
{
    static constexpr std::array words{EnumWord{Precision::Fp32, std::string_view("fp32")},
                                      EnumWord{Precision::Tf32, std::string_view("tf32")},
                                      EnumWord{Precision::Bf16, std::string_view("bf16")},
                                      EnumWord{Precision::Fp16, std::string_view("fp16")}};
    return words;
}

template <> std::span<const EnumWord<Backend>> enumWords()
{
    static constexpr std::array words{EnumWord{Backend::Naive, std::string_view("naive")},
                                      EnumWord{Backend::FlashTorch, std::string_view("flash-torch")},
                                      EnumWord{Backend::Flash, std::string_view("flash")},
                                      EnumWord{Backend::Sdpa, std::string_view("sdpa")},
                                      EnumWord{Backend::SdpaFlash, std::string_view("sdpa-flash")},
                                      EnumWord{Backend::SdpaEfficient, std::string_view("sdpa-efficient")},
                                      EnumWord{Backend::SdpaCudnn, std::string_view("sdpa-cudnn")},
                                      EnumWord{Backend::SdpaMath, std::string_view("sdpa-math")}};
    return words;
}

template <> std::span<const EnumWord<TraceLevel>> enumWords()
{
    static constexpr std::array words{EnumWord{TraceLevel::Off, std::string_view("off")},
                                      EnumWord{TraceLevel::Kernels, std::string_view("kernels")},
                                      EnumWord{TraceLevel::Full, std::string_view("full")}};
    return words;
}

template <> std::span<const EnumWord<Isolation>> enumWords()
{
    static constexpr std::array words{EnumWord{Isolation::Sweep, std::string_view("sweep")},
                                      EnumWord{Isolation::Process, std::string_view("process")}};
    return words;
}

template <> std::span<const EnumWord<RunStatus>> enumWords()
{
    static constexpr std::array words{EnumWord{RunStatus::Running, std::string_view("running")},
                                      EnumWord{RunStatus::Ok, std::string_view("ok")},
                                      EnumWord{RunStatus::Oom, std::string_view("oom")},
                                      EnumWord{RunStatus::Skipped, std::string_view("skipped")},
                                      EnumWord{RunStatus::Error, std::string_view("error")},
                                      EnumWord{RunStatus::Cancelled, std::string_view("cancelled")},
                                      EnumWord{RunStatus::Interrupted, std::string_view("interrupted")}};
    return words;
}

template <> std::span<const EnumWord<SampleKind>> enumWords()
{
    static constexpr std::array words{EnumWord{SampleKind::Warmup, std::string_view("warmup")},
                                      EnumWord{SampleKind::Measure, std::string_view("measure")},
                                      EnumWord{SampleKind::Trace, std::string_view("trace")}};
    return words;
}

template <> std::span<const EnumWord<Phase>> enumWords()
{
    static constexpr std::array words{EnumWord{Phase::Step, std::string_view("step")},
                                      EnumWord{Phase::Forward, std::string_view("forward")},
                                      EnumWord{Phase::Loss, std::string_view("loss")},
                                      EnumWord{Phase::Backward, std::string_view("backward")},
                                      EnumWord{Phase::Optimizer, std::string_view("optimizer")}};
    return words;
}

template <> std::span<const EnumWord<DeviceEventKind>> enumWords()
{
    static constexpr std::array words{EnumWord{DeviceEventKind::Kernel, std::string_view("kernel")},
                                      EnumWord{DeviceEventKind::Memcpy, std::string_view("memcpy")},
                                      EnumWord{DeviceEventKind::Memset, std::string_view("memset")}};
    return words;
}

template <> std::span<const EnumWord<CopyKind>> enumWords()
{
    static constexpr std::array words{
        EnumWord{CopyKind::None, std::string_view("none")},
        EnumWord{CopyKind::HostToDevice, std::string_view("host_to_device")},
        EnumWord{CopyKind::DeviceToHost, std::string_view("device_to_host")},
        EnumWord{CopyKind::DeviceToDevice, std::string_view("device_to_device")},
        EnumWord{CopyKind::HostToHost, std::string_view("host_to_host")},
        EnumWord{CopyKind::PeerToPeer, std::string_view("peer_to_peer")},
        EnumWord{CopyKind::Other, std::string_view("other")}};
    return words;
}

template <> std::span<const EnumWord<ApiKind>> enumWords()
{
    static constexpr std::array words{EnumWord{ApiKind::Launch, std::string_view("launch")},
                                      EnumWord{ApiKind::Memory, std::string_view("memory")},
                                      EnumWord{ApiKind::Synchronize, std::string_view("synchronize")},
                                      EnumWord{ApiKind::Other, std::string_view("other")}};
    return words;
}

template <> std::span<const EnumWord<OpScope>> enumWords()
{
    static constexpr std::array words{EnumWord{OpScope::Function, std::string_view("function")},
                                      EnumWord{OpScope::Backward, std::string_view("backward")}};
    return words;
}

template <> std::span<const EnumWord<AllocAction>> enumWords()
{
    static constexpr std::array words{
        EnumWord{AllocAction::Alloc, std::string_view("alloc")},
        EnumWord{AllocAction::FreeRequested, std::string_view("free_requested")},
        EnumWord{AllocAction::FreeCompleted, std::string_view("free_completed")},
        EnumWord{AllocAction::SegmentAlloc, std::string_view("segment_alloc")},
        EnumWord{AllocAction::SegmentFree, std::string_view("segment_free")},
        EnumWord{AllocAction::SegmentMap, std::string_view("segment_map")},
        EnumWord{AllocAction::SegmentUnmap, std::string_view("segment_unmap")},
        EnumWord{AllocAction::Snapshot, std::string_view("snapshot")},
        EnumWord{AllocAction::Oom, std::string_view("oom")}};
    return words;
}

template <> std::span<const EnumWord<LossSeverity>> enumWords()
{
    static constexpr std::array words{EnumWord{LossSeverity::Info, std::string_view("info")},
                                      EnumWord{LossSeverity::Warning, std::string_view("warning")},
                                      EnumWord{LossSeverity::Error, std::string_view("error")}};
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
        return checkpointing.every == 1 ? "block" : "block:" + std::to_string(checkpointing.every);
    case Checkpointing::Kind::Attention:
        return "attention";
    }
    return {};
}

} // namespace tilescope
