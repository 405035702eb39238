#include "core/config/varying_keys.h"

#include "core/config/schema.h"
#include "core/model/attention_backend.h"
#include "core/model/parallelism.h"
#include "core/model/text.h"

#include <algorithm>
#include <iterator>

namespace tilescope::config {

namespace {

/// The keys that add no information where they follow another one.
std::vector<const KeyInfo*> followers()
{
    std::vector<const KeyInfo*> found;
    for (const KeyInfo& key : config::keys())
        if (!key.use.leader.empty())
            found.push_back(&key);
    return found;
}

constexpr std::string_view kWorkload = "workload";

const std::string* find(const KeyTexts& point, std::string_view key)
{
    const auto found = std::ranges::find(point, key, &KeyTexts::value_type::first);
    return found == point.end() ? nullptr : &found->second;
}

std::string workloadOf(const KeyTexts& point)
{
    const std::string* workload = find(point, kWorkload);
    return workload ? *workload : std::string();
}

bool hasEffect(const KeyTexts& point, std::string_view key)
{
    if (key == "repeat") // how often it is run, not what
        return false;
    if (key == "bucket") {
        const std::string* parallel = find(point, "parallel");
        const auto known = parallel ? fromWord<Parallel>(*parallel) : std::nullopt;
        return !parallel || (known && hasBuckets(*known));
    }
    if (key != "tile_q" && key != "tile_k")
        return true;
    const std::string* name = find(point, "backend");
    const BackendTraits* backend = name ? findBackend(*name) : nullptr;
    return !name || (backend && backend->hasTiles);
}

} // namespace

void VaryingKeys::add(const KeyTexts& point)
{
    OfWorkload& points = workloads_[workloadOf(point)];
    for (const auto& [name, value] : point) {
        if (!hasEffect(point, name))
            continue;
        const auto [key, isNew] = points.keys.try_emplace(name, Key{.first = value});
        key->second.varies = key->second.varies || key->second.first != value;
    }
    for (const KeyInfo* key : followers()) {
        Following& following = points.followers[std::string(key->name)];
        const std::string* value = find(point, key->name);
        const std::string* leader = find(point, key->use.leader);
        if (!value || !following.holds)
            continue;
        if (!leader || (key->use.equalsLeader && *value != *leader))
            following.holds = false;
        else if (!key->use.equalsLeader)
            following.holds = following.valueByLeader.try_emplace(*leader, *value).first->second == *value;
    }
}

bool VaryingKeys::varies(const OfWorkload& points, std::string_view key) const
{
    if (key == kWorkload)
        return workloads_.size() > 1;
    const auto found = points.keys.find(key);
    if (found == points.keys.end() || !found->second.varies)
        return false;
    const auto following = points.followers.find(key);
    return following == points.followers.end() || !following->second.holds;
}

std::set<std::string> VaryingKeys::keys() const
{
    std::set<std::string> varying;
    for (const auto& [workload, points] : workloads_)
        for (const auto& [name, key] : points.keys)
            if (varies(points, name))
                varying.insert(name);
    return varying;
}

KeyTexts VaryingKeys::of(const KeyTexts& point) const
{
    KeyTexts varying;
    const auto points = workloads_.find(workloadOf(point));
    if (points == workloads_.end())
        return varying;
    for (const auto& entry : point)
        if (varies(points->second, entry.first) && hasEffect(point, entry.first))
            varying.push_back(entry);
    return varying;
}

std::string labelOf(const KeyTexts& values)
{
    std::string label;
    for (const auto& [key, value] : values)
        label += (label.empty() ? "" : " ") + key + "=" + value;
    return label;
}

} // namespace tilescope::config
