#include "core/machine/cupti_functions.h"

namespace tilescope::machine {

namespace {

std::string deviceText(int device)
{
    return "GPU " + std::to_string(device);
}

std::string remedyOf(cupti::Result result)
{
    if (result == cupti::kNoPrivileges || result == cupti::kVirtualNoPrivileges)
        return "set NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module, or run as root";
    if (result == cupti::kHardwareBusy)
        return "end it, and record again";
    return {};
}

} // namespace

std::vector<const char*> pointersOf(std::span<const std::string> metrics)
{
    std::vector<const char*> pointers;
    for (const std::string& metric : metrics)
        pointers.push_back(metric.c_str());
    return pointers;
}

SamplingFunctions::SamplingFunctions(const std::filesystem::path& cupti) : path_(cupti)
{
    // CUPTI opens it by bare name, which the loader does not find.
    dlopen((cupti.parent_path() / "libnvperf_host.so").c_str(), RTLD_NOW | RTLD_GLOBAL);
    library_ = dlopen(cupti.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library_)
        throw Error{.what = "CUPTI cannot be loaded: " + std::string(dlerror()),
                    .where = cupti.string(),
                    .kind = ErrorKind::Environment};
    if (!dlsym(library_, "cuptiPmSamplingEnable"))
        throw Error{.what = "this CUPTI is older than CUDA 12.6, with which sampling of metrics begins",
                    .where = cupti.string(),
                    .remedy = "run the program with libraries of CUDA 12.6 or later",
                    .kind = ErrorKind::Environment};
    auto parameters = cupti::sized<cupti::InitializeParams>();
    require(call("cuptiProfilerInitialize", parameters), "start its profiler", {});
}

void SamplingFunctions::require(cupti::Result result, std::string_view what, std::optional<int> device) const
{
    if (result != cupti::kDone)
        throw Error{.what = whyNot(result, what),
                    .where = device ? deviceText(*device) : path_.string(),
                    .remedy = remedyOf(result),
                    .kind = ErrorKind::Environment};
}

const SamplingFunctions::Chip& SamplingFunctions::chip(int device)
{
    if (const auto known = chips_.find(device); known != chips_.end())
        return known->second;
    auto name = cupti::sized<cupti::ChipNameParams>();
    name.device = static_cast<std::size_t>(device);
    require(call("cuptiDeviceGetChipName", name), "name the chip", device);
    Chip chip{.name = name.chip ? name.chip : ""};
    auto asked = cupti::sized<cupti::AvailabilityParams>();
    asked.device = name.device;
    require(call("cuptiPmSamplingGetCounterAvailability", asked), "list its counters", device);
    chip.availability.resize(asked.imageSize);
    asked.image = chip.availability.data();
    require(call("cuptiPmSamplingGetCounterAvailability", asked), "list its counters", device);
    return chips_.emplace(device, std::move(chip)).first->second;
}

std::string SamplingFunctions::whyNot(cupti::Result result, std::string_view what) const
{
    switch (result) {
    case cupti::kNoPrivileges:
    case cupti::kVirtualNoPrivileges:
        return "the driver lets only administrators read hardware counters";
    case cupti::kHardwareBusy:
        return "another program uses the hardware counters: Nsight Compute, or a recording with "
               "--metrics or --inside";
    case cupti::kVirtualDevice:
        return "the counters of a virtual GPU cannot be sampled";
    case cupti::kConfidential:
        return "counters cannot be sampled in confidential computing";
    case cupti::kMigDevice:
        return "the counters of a part of a GPU (MIG) cannot be sampled";
    case cupti::kWslDevice:
        return "counters cannot be sampled in the Windows Subsystem for Linux";
    default: {
        const auto name = reinterpret_cast<cupti::Result (*)(cupti::Result, const char**)>(
            dlsym(library_, "cuptiGetResultString"));
        const char* text = nullptr;
        if (name)
            name(result, &text);
        return "CUPTI refused to " + std::string(what) + ": " +
               (text ? std::string(text) : "error " + std::to_string(result));
    }
    }
}

HostMetrics::HostMetrics(SamplingFunctions& library, int device) : library_(library), device_(device)
{
    const auto& chip = library.chip(device);
    auto made = cupti::sized<cupti::HostInitializeParams>();
    made.chip = chip.name.c_str();
    made.availability = chip.availability.empty() ? nullptr : chip.availability.data();
    library.require(library.call("cuptiProfilerHostInitialize", made), "describe the chip " + chip.name,
                    device);
    host_ = made.host;
}

HostMetrics::~HostMetrics()
{
    auto ended = cupti::sized<cupti::HostParams>();
    ended.host = host_;
    library_.call("cuptiProfilerHostDeinitialize", ended);
}

std::vector<std::uint8_t> HostMetrics::configuration(std::span<const std::string> metrics) const
{
    std::vector<const char*> names = pointersOf(metrics);
    auto added = cupti::sized<cupti::AddMetricsParams>();
    added.host = host_;
    added.metrics = names.data();
    added.count = names.size();
    // One that the chip lacks, and one that it has but not here, such as NVLink on a single GPU.
    if (library_.call("cuptiProfilerHostConfigAddMetrics", added) != cupti::kDone)
        return {};
    auto size = cupti::sized<cupti::ConfigSizeParams>();
    size.host = host_;
    library_.require(library_.call("cuptiProfilerHostGetConfigImageSize", size), "configure metrics",
                     device_);
    std::vector<std::uint8_t> config(size.size);
    auto made = cupti::sized<cupti::ConfigParams>();
    made.host = host_;
    made.size = config.size();
    made.config = config.data();
    library_.require(library_.call("cuptiProfilerHostGetConfigImage", made), "configure metrics", device_);
    return config;
}

} // namespace tilescope::machine
