#include "core/trace/assembly/graph_description.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace tilescope::trace {

namespace {

/// The name of a function without its type and arguments.
std::string shortName(const std::string& kernel)
{
    constexpr std::string_view kVoid = "void ";
    std::string name = demangled(kernel.c_str());
    if (name.starts_with(kVoid))
        name.erase(0, kVoid.size());
    constexpr std::string_view kAnonymous = "(anonymous namespace)::";
    for (std::size_t at = name.find(kAnonymous); at != std::string::npos; at = name.find(kAnonymous))
        name.erase(at, kAnonymous.size());
    const std::size_t end = name.find_first_of("<(");
    return end == 0 || end == std::string::npos ? name : name.substr(0, end);
}

std::string wordOf(const GraphNodeFacts& node)
{
    switch (node.kind) {
    case GraphNodeFacts::Kind::Kernel:
        return node.kernel.empty() ? "unnamed kernel" : shortName(node.kernel);
    case GraphNodeFacts::Kind::Copy:
        return "copy";
    case GraphNodeFacts::Kind::Set:
        return "memset";
    case GraphNodeFacts::Kind::Other:
        break;
    }
    return "other node";
}

/// The path that contains both.
std::string_view commonPath(std::string_view a, std::string_view b)
{
    std::size_t end = 0;
    for (std::size_t i = 0;; ++i) {
        const bool endsA = i == a.size() || a[i] == '/';
        const bool endsB = i == b.size() || b[i] == '/';
        if (endsA && endsB)
            end = i;
        if (i == a.size() || i == b.size() || a[i] != b[i])
            return a.substr(0, end);
    }
}

void addCount(std::string& text, std::int64_t count, std::string_view word, std::string_view plural)
{
    if (count == 0)
        return;
    text += text.empty() ? "" : ", ";
    text += std::to_string(count) + " ";
    text += count == 1 ? word : plural;
}

/// Words in the order of their first appearance, with their counts.
class Counted {
public:
    void add(std::string word)
    {
        const auto [place, isNew] = places_.try_emplace(word, words_.size());
        if (isNew)
            words_.emplace_back(std::move(word), 0);
        ++words_[place->second].second;
    }
    std::string text() const
    {
        std::string text;
        for (const auto& [word, count] : words_) {
            text += (text.empty() ? "" : ", ") + word;
            if (count > 1)
                text += " x " + std::to_string(count);
        }
        return text;
    }

private:
    std::map<std::string, std::size_t> places_;
    std::vector<std::pair<std::string, std::int64_t>> words_;
};

} // namespace

std::string demangled(const char* name)
{
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
    return status == 0 && text ? text.get() : name;
}

GraphDescription describeGraph(std::uint32_t id, const std::vector<GraphNodeFacts>& nodes,
                               const std::function<std::string_view(std::uint64_t node)>& pathOf)
{
    constexpr std::size_t kLongest = 8000;
    GraphDescription graph;
    std::vector<std::pair<std::string, Counted>> places; // in the order of the nodes
    std::map<std::string, std::size_t, std::less<>> known;
    std::optional<std::string_view> common;
    const auto countOf = [&](GraphNodeFacts::Kind kind) {
        return std::ranges::count(nodes, kind, &GraphNodeFacts::kind);
    };
    for (const GraphNodeFacts& node : nodes) {
        const std::string_view path = pathOf(node.id);
        if (!path.empty())
            common = common ? commonPath(*common, path) : path;
        const std::string place(path.empty() ? "unknown place" : path);
        const auto [found, isNew] = known.try_emplace(place, places.size());
        if (isNew)
            places.emplace_back(place, Counted());
        places[found->second].second.add(wordOf(node));
    }
    std::string counts;
    addCount(counts, countOf(GraphNodeFacts::Kind::Kernel), "kernel", "kernels");
    addCount(counts, countOf(GraphNodeFacts::Kind::Copy), "copy", "copies");
    addCount(counts, countOf(GraphNodeFacts::Kind::Set), "memset", "memsets");
    graph.name = "CUDA graph " + std::to_string(id) + (counts.empty() ? "" : ": " + counts);
    graph.path = common.value_or("");
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (graph.nodes.size() > kLongest) {
            graph.nodes += "; and " + std::to_string(places.size() - i) + " more places";
            break;
        }
        graph.nodes += (i == 0 ? "" : "; ") + places[i].first + ": " + places[i].second.text();
    }
    return graph;
}

} // namespace tilescope::trace
