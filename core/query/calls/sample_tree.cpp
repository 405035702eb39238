#include "core/query/calls/sample_tree.h"

#include "core/query/kernels/inside_table.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace tilescope::query {

namespace {

using Node = CallTree::Node;

/// The stacks that launched a kernel, and what was sampled of it.
struct SampledStacks {
    std::vector<Node> nodes = {};
    std::int64_t time = 0;
    std::vector<const InsideRow*> lines = {};
};

std::string lineName(const SourceLine& line)
{
    if (line.file.empty())
        return "no line";
    return line.file.substr(line.file.rfind('/') + 1) + ":" + std::to_string(line.line);
}

class SampleTree {
public:
    explicit SampleTree(const CallTree& times)
        : times_(times), copies_(times.entries().size(), CallTree::kRoot)
    {
    }

    void add(const SampledStacks& kernel)
    {
        for (const InsideRow* line : kernel.lines) {
            std::int64_t before = 0;
            std::int64_t time = 0;
            for (const Node node : kernel.nodes) {
                time += times_.entries()[node].amount;
                const std::int64_t until = kernel.time > 0 ? std::llround(static_cast<double>(line->samples) *
                                                                          static_cast<double>(time) /
                                                                          static_cast<double>(kernel.time))
                                                           : line->samples;
                if (until > before)
                    made_.add(lineNode(copyOf(node), *line), until - before, until - before);
                before = until;
            }
        }
    }

    CallTree take() { return std::move(made_); }

private:
    Node copyOf(Node node)
    {
        if (node == CallTree::kRoot)
            return CallTree::kRoot;
        if (copies_[node] == CallTree::kRoot) {
            const CallTree::Entry& entry = times_.entries()[node];
            copies_[node] = made_.child(copyOf(entry.parent), entry.kind, times_.nameOf(node));
        }
        return copies_[node];
    }

    Node lineNode(Node kernel, const InsideRow& line)
    {
        if (line.caller.line == 0)
            return made_.child(kernel, CallKind::Frame, lineName(line.line));
        const Node caller = made_.child(kernel, CallKind::Frame, lineName(line.caller));
        return made_.child(caller, CallKind::Frame,
                           lineName(line.line) + (line.function.empty() ? "" : " " + line.function));
    }

    const CallTree& times_;
    CallTree made_;
    std::vector<Node> copies_; ///< by node of times_
};

} // namespace

CallTreeTable sampleTree(const store::RunReader& reader, const ProcessQuery& topology, CallTreeTable times)
{
    const InsideTable lines =
        inside(reader, {.run = times.run.run, .topology = topology, .group = InsideGroup::Line});
    std::map<std::string, SampledStacks> kernels;
    for (const InsideRow& row : lines.rows)
        kernels[row.kernel].lines.push_back(&row);
    const CallTree& tree = times.tree;
    for (Node node = CallTree::kRoot + 1; node < tree.entries().size(); ++node) {
        if (tree.entries()[node].kind != CallKind::Kernel)
            continue;
        const auto kernel = kernels.find(tree.nameOf(node));
        if (kernel == kernels.end())
            continue;
        kernel->second.nodes.push_back(node);
        kernel->second.time += tree.entries()[node].amount;
    }
    SampleTree samples(tree);
    for (const auto& [name, kernel] : kernels)
        samples.add(kernel);
    CallTree made = samples.take();
    times.tree = std::move(made);
    times.weight = CallWeight::Samples;
    times.events = times.tree.totalAmount();
    times.whole = true;
    if (times.events == 0)
        times.whyEmpty = "No samples of instructions: record with --inside.";
    return times;
}

} // namespace tilescope::query
