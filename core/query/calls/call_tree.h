#pragma once

#include "core/query/runs/event_query.h"
#include "core/query/runs/run_kernels.h"
#include "core/query/runs/time_span.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilescope::query {

/// The kind of a node of a call tree, from the outside in.
enum class CallKind : std::uint8_t {
    Process,
    Frame,  ///< function of an interpreter
    Module, ///< component of a module path, also steps and phases
    Op,
    Kernel,
    Copy,
    Memset,
    Allocation, ///< of a category of memory
    Cause,      ///< analysis::HostCause
    Call        ///< of CUDA
};

/// process, frame, module, op, kernel, copy, memset, allocation, cause, call.
std::string_view wordOf(CallKind kind);
/// The kind of activity of kernels, copies and memsets; none for what calls them.
std::optional<DeviceEventKind> deviceKindOf(CallKind kind);

/// Stacks that share their beginnings, with the amount at the end of each: time, bytes or FLOPs.
class CallTree {
public:
    using Node = std::uint32_t;
    static constexpr Node kRoot = 0; ///< the empty stack

    struct Entry {
        Node parent = kRoot;
        std::uint32_t name = 0; ///< index into names()
        CallKind kind = CallKind::Process;
        std::int64_t amount = 0; ///< amount that ends at this node, without nodes below: ns, bytes or FLOPs
        std::int64_t count = 0;  ///< number of activities that end at this node
    };

    /// The stack `parent` followed by a call. O(length), amortised.
    Node child(Node parent, CallKind kind, std::string_view name);
    /// The same with the index of a name.
    Node child(Node parent, CallKind kind, std::uint32_t name);
    std::uint32_t nameIndex(std::string_view name);
    void add(Node node, std::int64_t amount, std::int64_t count = 1);
    /// Replaces every name, for example to leave out who recorded it. Names that become equal stay apart.
    void renameAll(const std::function<std::string(const std::string&)>& rename);

    /// Indexed by Node. A parent precedes its children; entry 0 is the root.
    const std::vector<Entry>& entries() const { return entries_; }
    /// Each text once.
    const std::vector<std::string>& names() const { return names_; }
    const std::string& nameOf(Node node) const { return names_[entries_[node].name]; }
    /// The indices of the names of a stack, outermost first.
    std::vector<std::uint32_t> stackOf(Node node) const;
    /// step/forward/layers.3: the modules around a node and itself if it is one.
    std::string modulePath(Node node) const;
    /// Amounts and activities of each node and everything below it, by Node; those of the root are the sums
    /// over all stacks.
    struct Sums {
        std::vector<std::int64_t> amount;
        std::vector<std::int64_t> count;
    };
    Sums sums() const;
    std::int64_t totalAmount() const;
    std::int64_t totalCount() const;

private:
    std::vector<Entry> entries_{Entry{}};
    std::vector<std::string> names_;
    std::unordered_map<std::string, std::uint32_t> nameIndex_;
    std::unordered_map<std::uint64_t, Node> children_; ///< by parent, name and kind
};

/// The quantity that a call tree adds up.
enum class CallWeight : std::uint8_t {
    Time,      ///< ns of kernels, copies and memsets; without a GPU self time of ops
    Host,      ///< ns of self time of the host's ops
    Allocated, ///< bytes that were allocated, whether they were freed or not
    Flops,     ///< of ops whose shapes were recorded, as in the roofline
    Moved,     ///< bytes that these ops read and write, as in the roofline
    Idle,      ///< ns in which the GPU had no work, as in the table of waiting
    Samples    ///< of the instructions of kernels, with the lines of their source (sampleTree())
};

/// time, host, allocated, flops, bytes, idle, samples.
std::string_view wordOf(CallWeight weight);
/// \throws Error (Usage)  there is no such weight; names those that there are
CallWeight callWeightOf(std::string_view word);

/// The part of a run that a call tree covers.
enum class CallTreeScope : std::uint8_t {
    Table,    ///< as the table of kernels: traced steps; of imported and recorded runs everything
    Steps,    ///< traced steps
    Recording ///< everything
};

/// Leaves out stacks by a call in them; see filtered().
struct CallFilter {
    enum class Kind : std::uint8_t { KeepOnly, Hide, Callers, Callees };
    Kind kind = Kind::KeepOnly;
    std::string name; ///< of the call, whole

    bool operator==(const CallFilter&) const = default;
};

/// The part that filters left out.
struct HiddenCalls {
    std::int64_t amount = 0;
    std::int64_t count = 0;

    void add(std::int64_t amounts, std::int64_t counts)
    {
        amount += amounts;
        count += counts;
    }
};

struct CallTreeOptions {
    CallTreeScope scope = CallTreeScope::Table;
    CallWeight weight = CallWeight::Time;
    std::optional<TimeSpan> span = {}; ///< only what happens in it, in steps or not; replaces the scope
    std::vector<CallFilter> filters = {};
    /// Only what this thread launched, or ran on the host (ThreadChoice::number); none: all threads.
    std::optional<std::int64_t> thread = {};
};

/// The activities of a run as a tree of their callers.
struct CallTreeTable {
    store::RunRecord run = {};
    CallWeight weight = CallWeight::Time;
    bool onGpu = false; ///< GPU time of kernels, copies and memsets; otherwise self time of the host's ops
    bool whole = false; ///< of the whole recording instead of the traced steps
    std::optional<TimeSpan> span = {};
    CallTree tree = {};
    HiddenCalls hidden = {};      ///< by filters
    LaunchFamilies byLaunch = {}; ///< of kernels of GPU time whose names say no family
    std::int64_t events = 0;      ///< GPU activities, ops or allocations of the run, selected or not
    std::int64_t steps = 0;       ///< that idle time is of; 0: the whole recording or the span
    std::string whyEmpty = {};    ///< of idle time and samples: why there is none

    bool isTime() const
    {
        return weight == CallWeight::Time || weight == CallWeight::Host || weight == CallWeight::Idle;
    }
};

/// Rank (if there are several processes), frames of the interpreter that were open at the launch, components of
/// the module path, ops from the outermost to the one that launched, and the kernel, copy or memset. Levels that
/// the run does not have are left out. Of a run without GPU activities, and of host time, the innermost ops are the
/// ends of the stacks, and their self time counts. Stacks of allocations end in their category; those of FLOPs and
/// moved bytes end in the op that counts them. Stacks of idle time are those of the host's Python, then what it did
/// (analysis::HostCause) and, of that, the call into CUDA. In a memory snapshot, the frames of an allocation's stack replace modules.
///
/// Each activity counts once, at the end of one stack: times of activities that overlap add up. Activities that
/// are only partly in a time span count with that part.
/// Memory: the distinct stacks, 12 bytes for each op and, if the run has frames, 20 bytes for each activity.
/// \param cancelled  ends the reading of events early; the tree then has a part of them
/// \throws Error  no such run, rank, process, thread or device; a pattern that is invalid; of idle time: a pattern, a
///                device or a thread; of allocations a thread
CallTreeTable callTree(
    const store::RunReader& reader, const EventQuery& query, const CallTreeOptions& options = {},
    const std::function<bool()>& cancelled = [] { return false; });

/// The tree with every stack turned round: what took the time is outermost, its callers are inside. O(size).
CallTree inverted(const CallTree& tree);

/// The place of a node in a table.
struct CallPlace {
    CallTree::Node node = CallTree::kRoot;
    std::int64_t id = 0; ///< place in depth-first order
    std::optional<std::int64_t> parent = {};
    std::string name = {};
    CallKind kind = CallKind::Process;
    std::string path = {}; ///< of modules; otherwise empty
    std::size_t depth = 0; ///< 0 without a parent
};

/// The nodes in depth-first order, of equal parents those with the highest rank first.
/// \param most  keep only this many nodes, those with the largest amounts; a parent is kept before its children. 0: all
std::vector<CallPlace> depthFirst(const CallTree& tree, std::size_t most,
                                  const std::function<std::int64_t(CallTree::Node)>& rank);

/// A node as a row of a table.
struct CallTreeRow : CallPlace {
    std::int64_t self = 0; ///< ns, bytes or FLOPs
    std::int64_t total = 0;
    std::int64_t count = 0; ///< of activities in it and below
    double percent = 0;     ///< total, of the whole tree
};

/// The rows in depth-first order, of equal parents the largest first.
/// \param most  keep only this many nodes, the largest; a parent is kept before its children. 0: all
std::vector<CallTreeRow> rowsOf(const CallTree& tree, std::size_t most = 0);

} // namespace tilescope::query
