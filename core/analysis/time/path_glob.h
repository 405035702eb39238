#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// A pattern for range paths: `*` matches any text within a component, `?` one character, and `**` any number
/// of whole components including none. `**/attention/**` matches step/forward/layers.3/attention and
/// everything below it.
///
/// Immutable; any thread.
class PathGlob {
public:
    /// \throws Error  the pattern is empty, has an empty component or mixes `**` with other text
    explicit PathGlob(std::string_view pattern);

    /// Whether the whole path matches. O(components of path x components of pattern).
    bool matches(std::string_view path) const;

    /// Whether the path or one of its ancestors matches, so that `path` is within a matching range.
    bool contains(std::string_view path) const;

private:
    std::vector<std::string> components_;
};

/// The path from `step` on: `trace/step/forward` and `step/forward` both yield `step/forward`. A path without
/// a step is returned unchanged.
std::string_view fromStepDown(std::string_view path);

/// `forward/layers.3` of step/forward/layers.3; a path that does not begin with a step is returned unchanged.
std::string_view belowStep(std::string_view path);

/// `forward` of step/forward/layers.3; empty if the path has no phase.
std::string_view phaseOf(std::string_view path);

/// `layers.3/attention` of step/backward/layers.3/attention; empty above all modules.
std::string_view moduleOf(std::string_view path);

/// Whether a component of a path, such as DistributedDataParallel_0 or _orig_mod, wraps a module: its forward only calls that of the
/// module.
bool isModuleWrapper(std::string_view component);

} // namespace tilescope::analysis
