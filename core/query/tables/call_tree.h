#pragma once

#include "core/query/runs/event_query.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilescope::query {

/// What a node of a call tree stands for, from the outside in.
enum class CallKind : std::uint8_t {
    Process,
    Frame,  ///< function of an interpreter
    Module, ///< component of a module path, also steps and phases
    Op,
    Kernel,
    Copy,
    Memset
};

/// process, frame, module, op, kernel, copy, memset.
std::string_view wordOf(CallKind kind);
/// The kind of activity of kernels, copies and memsets; none for what calls them.
std::optional<DeviceEventKind> deviceKindOf(CallKind kind);

/// Stacks that share their beginnings, with the time spent at the end of each.
class CallTree {
public:
    using Node = std::uint32_t;
    static constexpr Node kRoot = 0; ///< the empty stack

    struct Entry {
        Node parent = kRoot;
        std::uint32_t name = 0; ///< index into names()
        CallKind kind = CallKind::Process;
        std::int64_t ns = 0;    ///< that ends here, without what is below
        std::int64_t count = 0; ///< of activities that end here
    };

    /// The stack `parent` followed by a call. O(length), amortised.
    Node child(Node parent, CallKind kind, std::string_view name);
    /// The same with the index of a name.
    Node child(Node parent, CallKind kind, std::uint32_t name);
    std::uint32_t nameIndex(std::string_view name);
    void add(Node node, std::int64_t ns, std::int64_t count = 1);
    /// Replaces every name, for example to leave out who recorded it. Names that become equal stay apart.
    void renameAll(const std::function<std::string(const std::string&)>& rename);

    /// By Node. A parent stands before its children; entry 0 is the root.
    const std::vector<Entry>& entries() const { return entries_; }
    /// Each text once.
    const std::vector<std::string>& names() const { return names_; }
    const std::string& nameOf(Node node) const { return names_[entries_[node].name]; }
    /// The indices of the names of a stack, outermost first.
    std::vector<std::uint32_t> stackOf(Node node) const;
    /// Nanoseconds and activities of each node and everything below it, by Node; those of the root are the sums
    /// over all stacks.
    struct Sums {
        std::vector<std::int64_t> ns;
        std::vector<std::int64_t> count;
    };
    Sums sums() const;
    std::int64_t totalNs() const;
    std::int64_t totalCount() const;

private:
    std::vector<Entry> entries_{Entry{}};
    std::vector<std::string> names_;
    std::unordered_map<std::string, std::uint32_t> nameIndex_;
    std::unordered_map<std::uint64_t, Node> children_; ///< by parent, name and kind
};

/// The time of a run by what called it.
struct CallTreeTable {
    store::RunRecord run = {};
    bool onGpu = false; ///< GPU time of kernels, copies and memsets; otherwise self time of the host's ops
    bool whole = false; ///< of the whole recording instead of the traced steps
    CallTree tree = {};
    std::int64_t events = 0; ///< GPU activities, or ops, of the run, selected or not
};

/// What part of a run a call tree covers.
enum class CallTreeScope : std::uint8_t {
    Table,    ///< as the table of kernels: traced steps; of imported and recorded runs everything
    Recording ///< everything
};

/// Rank (if there are several processes), frames of the interpreter that were open at the launch, components of
/// the module path, ops from the outermost to the one that launched, and the kernel, copy or memset. Levels that
/// the run does not have are left out. Of a run without GPU activities, the innermost ops are the ends of the
/// stacks, and their self time counts.
///
/// Each activity counts once, at the end of one stack: times of activities that overlap add up.
/// Memory: the distinct stacks, 8 bytes for each op and, if the run has frames, 20 bytes for each activity.
/// \throws Error  no such run, rank, process or device; a pattern that is invalid
CallTreeTable callTree(const store::RunReader& reader, const EventQuery& query,
                       CallTreeScope scope = CallTreeScope::Table);

/// The tree with every stack turned round: what took the time is outermost, its callers are inside. O(size).
CallTree inverted(const CallTree& tree);

/// A node as a row of a table.
struct CallTreeRow {
    std::int64_t id = 0; ///< place in depth-first order
    std::optional<std::int64_t> parent = {};
    std::string name;
    CallKind kind = CallKind::Process;
    Nanoseconds self{0};
    Nanoseconds total{0};
    std::int64_t count = 0; ///< of activities in it and below
    double percent = 0;     ///< total, of the whole tree
    std::string path;       ///< of modules; otherwise empty
    std::size_t depth = 0;  ///< 0 without a parent
};

/// The rows in depth-first order, of equal parents the longest first.
/// \param most  keep only this many nodes, the longest; a parent is kept before its children. 0: all
std::vector<CallTreeRow> rowsOf(const CallTree& tree, std::size_t most = 0);

} // namespace tilescope::query
