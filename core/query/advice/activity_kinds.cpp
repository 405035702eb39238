#include "core/query/advice/activity_kinds.h"

#include "core/analysis/advice/recomputation.h"
#include "core/analysis/time/path_glob.h"
#include "core/query/compare/step_side.h"

namespace tilescope::query {

namespace {

std::string orNone(const std::string& place)
{
    return place.empty() ? "outside of modules" : place;
}

} // namespace

std::size_t ActivityKinds::Hash::operator()(const Key& key) const
{
    std::size_t hash = key.name.value;
    const auto mix = [&hash](std::uint64_t value) { hash = (hash ^ value) * 0x9E37'79B9'7F4A'7C15ULL; };
    mix(std::uint64_t{key.place} << 1 | std::uint64_t(key.isRecomputed));
    mix(static_cast<std::uint64_t>(key.device.value));
    for (const std::uint32_t extent : key.launch.grid)
        mix(extent);
    mix(key.launch.block[0]);
    return hash ^ hash >> 32;
}

std::string ActivityKinds::placeOrNone(StringId path)
{
    return orNone(placeOf(path));
}

const ActivityKinds::PathFacts& ActivityKinds::factsOf(StringId path)
{
    const auto [known, isNew] = paths_.try_emplace(path);
    if (!isNew || !path)
        return known->second;
    const std::string_view fromStep = analysis::fromStepDown(textOf_(path));
    const auto [place, isFirst] =
        placeNumbers_.try_emplace(alignedModule(fromStep), static_cast<std::uint32_t>(places_.size()));
    if (isFirst)
        places_.push_back(place->first);
    const std::string_view phase = analysis::phaseOf(fromStep);
    known->second = {.place = place->second, .isBackward = phase == "backward"};
    if (const std::string_view module = analysis::moduleOf(fromStep); phase == "forward" && !module.empty())
        trace_.models.emplace(module.substr(0, module.find('/')));
    return known->second;
}

const ActivityKinds::NameFacts& ActivityKinds::factsOf(const DeviceEvent& event)
{
    const auto [known, isNew] =
        names_.try_emplace(std::uint64_t{event.name.value} << 2 | static_cast<std::uint64_t>(event.kind));
    if (isNew) {
        NameFacts& facts = known->second;
        const std::string_view name = textOf_(event.name);
        facts.description = kernels_.describe(event.name, event.kind);
        facts.needsOccupancy =
            event.kind == DeviceEventKind::Kernel && analysis::needsOccupancy(facts.description.family);
        facts.computesForward = analysis::computesForwardAttention(name);
    }
    return known->second;
}

const AdviceDevice* ActivityKinds::limitedDevice(DeviceIndex device) const
{
    const auto known = trace_.devices.find(device);
    return known != trace_.devices.end() && known->second.limits ? &known->second : nullptr;
}

std::uint32_t ActivityKinds::of(const DeviceEvent& event, bool isRecomputed)
{
    const NameFacts& name = factsOf(event);
    const PathFacts& path = factsOf(event.path);
    trace_.hasBackwardWork = trace_.hasBackwardWork || path.isBackward;
    const AdviceDevice* const device = name.needsOccupancy ? limitedDevice(event.device) : nullptr;
    const Key key{.name = event.name,
                  .event = event.kind,
                  .copy = event.copy,
                  .device = event.device,
                  .place = path.place,
                  .isRecomputed = isRecomputed || (path.isBackward && name.computesForward),
                  .isCollective = name.description.family == analysis::KernelFamily::Collective ||
                                  collectives_.has(event.correlation),
                  .launch = device ? event.launch : LaunchConfig{}};
    const auto [known, isNew] = numbers_.try_emplace(key, static_cast<std::uint32_t>(trace_.kinds.size()));
    if (isNew)
        add(key, name.description, device);
    return known->second;
}

void ActivityKinds::add(const Key& key, const analysis::KernelDescription& description,
                        const AdviceDevice* device)
{
    ActivityKind& kind = trace_.kinds.emplace_back();
    kind.event = key.event;
    kind.family = description.family;
    kind.copy = key.copy;
    kind.device = key.device;
    kind.launch = key.launch;
    kind.fullName = textOf_(key.name);
    kind.name = description.shortName.empty() ? kind.fullName : description.shortName;
    kind.place = places_[key.place];
    kind.isRecomputed = key.isRecomputed;
    if (key.event != DeviceEventKind::Kernel)
        kind.work = analysis::workOfCopy(key.copy);
    else if (key.isCollective)
        kind.work = analysis::DeviceWork::Communication;
    if (device)
        kind.reach = analysis::reachOf(key.launch, *device->limits, device->multiprocessors);
    placeSources_.push_back(sources_.of({.kind = "module", .name = orNone(kind.place)}));
}

} // namespace tilescope::query
