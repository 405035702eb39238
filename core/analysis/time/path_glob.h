#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// A pattern over range paths: `*` is any text within a component, `?` one character of it, and `**` any
/// number of whole components, also none. `**/attention/**` matches step/forward/layers.3/attention and all
/// beneath it.
///
/// Immutable; any thread.
class PathGlob {
public:
    /// \throws Error  where the pattern is empty, has an empty component or mixes `**` with other text
    explicit PathGlob(std::string_view pattern);

    /// Whether the whole path matches. O(components of path x components of pattern).
    bool matches(std::string_view path) const;

    /// Whether the path or any path above it matches: whether something at `path` lies in a range that
    /// matches.
    bool contains(std::string_view path) const;

private:
    std::vector<std::string> components_;
};

/// The path without what stands above `step`: `trace/step/forward` and `step/forward` both give
/// `step/forward`. A path that is not under a step stays as it is.
std::string_view fromStepDown(std::string_view path);

/// `forward` of step/forward/layers.3; empty for a path that has no phase.
std::string_view phaseOf(std::string_view path);

/// `layers.3/attention` of step/backward/layers.3/attention; empty for a path above all modules.
std::string_view moduleOf(std::string_view path);

} // namespace tilescope::analysis
