#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::trace {

/// A node of a CUDA graph.
struct GraphNodeFacts {
    enum class Kind : std::uint8_t { Kernel, Copy, Set, Other };
    std::uint64_t id = 0; ///< CUPTI's
    Kind kind = Kind::Other;
    std::string kernel = {}; ///< its name, mangled
};

/// A graph whose replays are recorded as wholes: what its nodes tell of a replay.
struct GraphDescription {
    std::string name = {};  ///< "CUDA graph 2: 12 kernels, 1 copy"
    std::string path = {};  ///< the innermost that contains all nodes whose path is known; empty: none is
    std::string nodes = {}; ///< the nodes by path, each kernel with how often it is there; long lists are cut
};

/// \param id      of the executable graph, as records of replays have it
/// \param pathOf  the path under which a node was captured; empty: unknown
/// O(n log n).
GraphDescription describeGraph(std::uint32_t id, const std::vector<GraphNodeFacts>& nodes,
                               const std::function<std::string_view(std::uint64_t node)>& pathOf);

/// The demangled form of a kernel's name; the name itself if it is not mangled.
std::string demangled(const char* name);

} // namespace tilescope::trace
