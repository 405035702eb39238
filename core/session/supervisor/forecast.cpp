#include "core/session/supervisor/forecast.h"

#include "core/analysis/work/device_sheets.h"
#include "core/base/this_host.h"
#include "core/config/device_rules.h"
#include "core/machine/capacity.h"
#include "core/predict/device_rates.h"
#include "core/predict/predict_time.h"
#include "core/session/supervisor/calibration.h"

#include <map>
#include <thread>

namespace tilescope::session {

namespace {

// Memory of a GPU that driver and CUDA context use: 1.2 GiB on an H200 with driver 580.
constexpr std::int64_t kKeptByCuda = std::int64_t{1229} << 20;

predict::TargetDevice host()
{
    predict::TargetDevice device;
    device.name = "cpu";
    device.uuid = "cpu:" + hostName(); // the id in ceilings
    device.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    device.instructionSet = machine::cpuInstructionSet();
    // The engine's default: memory_limit auto on a CPU.
    if (const auto available = machine::hostCapacity())
        device.capacity = Bytes{available->count / 5 * 4};
    return device;
}

predict::TargetDevice gpuFromElsewhere(const std::vector<Ceiling>& ceilings)
{
    predict::TargetDevice device{.isCuda = true, .name = "GPU"};
    std::int64_t latest = 0;
    for (const Ceiling& ceiling : ceilings)
        if (ceiling.device.starts_with("GPU-") && ceiling.measuredUnixNs > latest) {
            latest = ceiling.measuredUnixNs;
            device.name = ceiling.deviceName;
            device.uuid = ceiling.device;
        }
    return device;
}

} // namespace

predict::TargetDevice targetDevice(const DeviceRequest& request, const ForecastTarget& target,
                                   const std::vector<Ceiling>& ceilings)
{
    using Kind = DeviceRequest::Kind;
    if (request.kind == Kind::Cpu && !target.capacity)
        return host();
    const auto gpu = machine::gpuCapacity(request.index.value_or(0));
    if (!gpu && request.kind == Kind::Auto && !target.capacity)
        return host();
    predict::TargetDevice device = gpu ? predict::TargetDevice{.isCuda = true} : gpuFromElsewhere(ceilings);
    if (target.capacity)
        device.capacity = target.capacity;
    if (gpu) {
        device.name = gpu->name;
        device.uuid = gpu->uuid;
        device.computeMajor = gpu->computeMajor;
        device.computeMinor = gpu->computeMinor;
        if (!target.capacity && gpu->memory.count > kKeptByCuda)
            device.capacity = Bytes{gpu->memory.count - kKeptByCuda};
    }
    device.multiprocessors = predict::multiprocessorsOf(ceilings, device).value_or(device.multiprocessors);
    return device;
}

std::vector<PointForecast> forecast(const std::vector<SweepPoint>& points, const ForecastTarget& target,
                                    const std::function<bool()>& cancelled)
{
    struct Known {
        predict::TargetDevice device;
        std::optional<predict::DeviceRates> rates;
        bool isHere = true;
    };
    const std::vector<Ceiling> ceilings = knownCeilings(target.calibration);
    std::map<std::pair<DeviceRequest::Kind, int>, Known> devices;
    std::vector<PointForecast> forecasts;
    forecasts.reserve(points.size());
    for (const SweepPoint& point : points) {
        if (cancelled && cancelled())
            break;
        const DeviceRequest& request = point.spec.device;
        const auto [entry, isNew] = devices.try_emplace({request.kind, request.index.value_or(0)});
        auto& [device, rates, isHere] = entry->second;
        if (isNew) {
            device = targetDevice(request, target, ceilings);
            rates = predict::DeviceRates::from(ceilings, device);
            if (rates && device.isCuda)
                if (const auto* sheet = analysis::DeviceSheets::standard().find(device.name);
                    sheet && sheet->link)
                    rates->assumeLink(*sheet->link);
            isHere = !device.isCuda || machine::gpuCapacity(request.index.value_or(0)).has_value();
        }
        PointForecast& forecast = forecasts.emplace_back();
        forecast.device = device.name;
        forecast.isHere = isHere;
        forecast.skipped = config::whyDeviceCannot(point.spec, device.isCuda);
        if (forecast.skipped)
            continue;
        forecast.memory = predict::predictMemory(point.spec, device);
        forecast.ranks = predict::parallelScaling(point.spec, device, rates);
        const auto time = rates ? predict::predictTime(point.spec, device, *rates) : std::nullopt;
        // A point that runs out of memory ends soon; no time is predicted.
        if (!time || (forecast.memory && forecast.memory->outOfMemory))
            continue;
        forecast.stepSeconds = time->stepSeconds;
        forecast.seconds = time->seconds;
        forecast.error = time->error;
        forecast.isFromBusyHost = rates->onBusyHost;
    }
    return forecasts;
}

} // namespace tilescope::session
