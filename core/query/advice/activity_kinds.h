#pragma once

#include "core/analysis/time/text_of.h"
#include "core/query/advice/advice_trace.h"
#include "core/query/runs/correlation_set.h"
#include "core/query/runs/run_kernels.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace tilescope::query {

/// Assigns a number to each kind of device activity that advice distinguishes, and adds it to AdviceTrace::kinds.
///
/// Layers count together, and launch configurations only where occupancy depends on them: a run has few kinds.
class ActivityKinds {
public:
    /// \param trace        its devices must be known before the first activity
    /// \param collectives  correlations of the kernels of collectives
    ActivityKinds(const analysis::TextOf& textOf, RunKernels& kernels, AdviceTrace& trace,
                  AdviceSources& sources, const CorrelationSet& collectives)
        : textOf_(textOf), kernels_(kernels), trace_(trace), sources_(sources), collectives_(collectives)
    {
    }

    /// \param isRecomputed  an op that repeats forward launched it
    std::uint32_t of(const DeviceEvent& event, bool isRecomputed);
    /// The module of a kind as a row of evidence.
    std::uint32_t placeSourceOf(std::uint32_t kind) const { return placeSources_[kind]; }

    /// The module of a path as in AdviceSource; empty for none.
    const std::string& placeOf(StringId path) { return places_[factsOf(path).place]; }
    /// The same, "outside of modules" for none.
    std::string placeOrNone(StringId path);

private:
    /// Facts that the name of a kernel, copy or memset contains.
    struct NameFacts {
        analysis::KernelDescription description = {};
        bool needsOccupancy = false;
        bool computesForward = false;
    };
    /// Facts that the path of an activity contains.
    struct PathFacts {
        std::uint32_t place = 0; ///< index into `places_`
        bool isBackward = false;
    };
    struct Key {
        StringId name = {};
        DeviceEventKind event = DeviceEventKind::Kernel;
        CopyKind copy = CopyKind::None;
        DeviceIndex device = {};
        std::uint32_t place = 0;
        bool isRecomputed = false;
        bool isCollective = false;
        LaunchConfig launch = {};
        bool operator==(const Key&) const = default;
    };
    /// Not noexcept: libstdc++ then keeps the hash of each key and compares it before the key.
    struct Hash {
        std::size_t operator()(const Key& key) const;
    };

    const NameFacts& factsOf(const DeviceEvent& event);
    const PathFacts& factsOf(StringId path);
    const AdviceDevice* limitedDevice(DeviceIndex device) const;
    void add(const Key& key, const analysis::KernelDescription& description, const AdviceDevice* device);

    const analysis::TextOf& textOf_;
    RunKernels& kernels_;
    AdviceTrace& trace_;
    AdviceSources& sources_;
    const CorrelationSet& collectives_;
    std::unordered_map<Key, std::uint32_t, Hash> numbers_;
    std::vector<std::uint32_t> placeSources_;            ///< by kind
    std::unordered_map<std::uint64_t, NameFacts> names_; ///< by name and kind
    std::unordered_map<StringId, PathFacts> paths_;
    std::vector<std::string> places_{std::string()}; ///< 0: unknown
    std::unordered_map<std::string, std::uint32_t> placeNumbers_{{std::string(), 0}};
};

} // namespace tilescope::query
