#include "core/exchange/export/gpu_stacks.h"

#include "core/base/error.h"
#include "core/exchange/export/export_parties.h"
#include "core/exchange/export/export_text.h"
#include "core/exchange/export/host_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace tilescope::exchange {

namespace {

constexpr int kHalf = 32;

std::uint64_t pairOf(std::uint32_t high, std::uint32_t low)
{
    return std::uint64_t{high} << kHalf | low;
}

class StackBuilder {
public:
    StackBuilder(const store::RunReader& reader, const store::RunRecord& run, const ExportOptions& options)
        : reader_(reader), run_(run), parties_(reader, run, options.withIdentity),
          texts_(reader, options.withIdentity)
    {
    }

    StackTree build()
    {
        const store::EventCounts counts = reader_.counts(run_.run);
        if (counts.deviceEvents == 0)
            throw Error{.what = "run " + std::to_string(run_.run.value) + " has no GPU activities",
                        .where = reader_.file().string(),
                        .mend = "stacks show GPU time: record the run on a GPU, with trace: kernels or full"};
        readOps();
        if (counts.frames > 0)
            findFrames(static_cast<std::size_t>(counts.deviceEvents));
        std::size_t number = 0;
        reader_.eachDeviceEvent({.run = run_.run}, [&](const DeviceEvent& event) {
            StackTree::Node node =
                number < frames_.size() ? frames_[number] : processNode(parties_.processOf(event));
            ++number;
            node = pathNode(node, event.path);
            node = opNode(node, event.op);
            tree_.add(tree_.child(node, texts_(event.name)),
                      std::max<std::int64_t>((event.end - event.start).count(), 0));
            return true;
        });
        return std::move(tree_);
    }

private:
    struct OpFacts {
        StringId name = {};
        OpId parent = {};
    };
    struct Launch {
        Timestamp time{};
        ThreadId thread = {};
        std::uint32_t event = 0; ///< place of the activity in the order of reading
    };
    struct OpenFrame {
        Timestamp end{};
        StackTree::Node node = StackTree::kRoot;
    };

    void readOps()
    {
        reader_.eachOp({.run = run_.run}, [this](const Op& op) {
            constexpr std::uint32_t kMostOps = 1U << 28;
            if (!op.id || op.id.value >= kMostOps)
                return true;
            if (op.id.value >= ops_.size())
                ops_.resize(std::size_t{op.id.value} + 1);
            ops_[op.id.value] = {op.name, op.parent};
            return true;
        });
    }

    StackTree::Node processNode(std::size_t process)
    {
        const std::vector<ExportedProcess>& all = parties_.processes();
        if (all.size() == 1)
            return StackTree::kRoot;
        const std::string name = all[process].rank ? fmt::format("rank {}", *all[process].rank)
                                                   : fmt::format("process {}", all[process].pid);
        return tree_.child(StackTree::kRoot, name);
    }

    /// Finds the innermost frame that was open when each activity was launched.
    void findFrames(std::size_t events)
    {
        std::vector<Launch> launches;
        frames_.reserve(events);
        reader_.eachDeviceEvent({.run = run_.run}, [&](const DeviceEvent& event) {
            if (event.launchThread && event.launched != Timestamp{})
                launches.push_back(
                    {event.launched, event.launchThread, static_cast<std::uint32_t>(frames_.size())});
            frames_.push_back(processNode(parties_.processOf(event)));
            return true;
        });
        std::ranges::sort(launches, {}, &Launch::time);
        std::unordered_map<ThreadId, std::vector<OpenFrame>> open;
        auto launch = launches.begin();
        const auto place = [&](Timestamp before) {
            for (; launch != launches.end() && launch->time < before; ++launch) {
                std::vector<OpenFrame>& stack = open[launch->thread];
                while (!stack.empty() && stack.back().end <= launch->time)
                    stack.pop_back();
                if (!stack.empty())
                    frames_[launch->event] = stack.back().node;
            }
        };
        eachHostEvent(reader_, run_.run, [&](const HostEvent& event) {
            const Frame* frame = std::get_if<Frame>(&event);
            if (!frame)
                return;
            place(frame->start);
            std::vector<OpenFrame>& stack = open[frame->thread];
            while (!stack.empty() && stack.back().end <= frame->start)
                stack.pop_back();
            const StackTree::Node parent =
                stack.empty() ? processNode(parties_.processOf(frame->thread)) : stack.back().node;
            stack.push_back({frame->end, tree_.child(parent, texts_(frame->name))});
        });
        place(Timestamp::max());
    }

    StackTree::Node pathNode(StackTree::Node from, StringId path)
    {
        if (!path)
            return from;
        const auto [known, isNew] = paths_.try_emplace(pairOf(from, path.value), from);
        if (!isNew)
            return known->second;
        const std::string text = texts_(path);
        StackTree::Node node = from;
        for (std::size_t begin = 0; begin <= text.size();) {
            const std::size_t end = std::min(text.find('/', begin), text.size());
            if (end > begin)
                node = tree_.child(node, std::string_view(text).substr(begin, end - begin));
            begin = end + 1;
        }
        return known->second = node;
    }

    StackTree::Node opNode(StackTree::Node from, OpId op)
    {
        constexpr std::size_t kDeepest = 256; // ops of a damaged file may contain each other
        chain_.clear();
        for (; op && op.value < ops_.size() && chain_.size() < kDeepest; op = ops_[op.value].parent)
            if (ops_[op.value].name)
                chain_.push_back(ops_[op.value].name);
        for (std::size_t i = chain_.size(); i-- > 0;)
            from = tree_.child(from, texts_(chain_[i]));
        return from;
    }

    const store::RunReader& reader_;
    const store::RunRecord& run_;
    const ExportParties parties_;
    ExportTexts texts_;
    StackTree tree_;
    std::vector<OpFacts> ops_;            ///< by OpId
    std::vector<StackTree::Node> frames_; ///< by activity; empty without frames
    std::unordered_map<std::uint64_t, StackTree::Node> paths_;
    std::vector<StringId> chain_;
};

} // namespace

StackTree::Node StackTree::child(Node parent, std::string_view name)
{
    const auto [text, isNewName] =
        nameIndex_.try_emplace(std::string(name), static_cast<std::uint32_t>(names_.size()));
    if (isNewName)
        names_.emplace_back(name);
    const auto [node, isNew] =
        children_.try_emplace(pairOf(parent, text->second), static_cast<Node>(entries_.size()));
    if (isNew)
        entries_.push_back({.parent = parent, .name = text->second});
    return node->second;
}

void StackTree::add(Node node, std::int64_t ns)
{
    entries_[node].ns += ns;
    ++entries_[node].count;
}

std::vector<std::uint32_t> StackTree::stackOf(Node node) const
{
    std::vector<std::uint32_t> stack;
    for (; node != kRoot; node = entries_[node].parent)
        stack.push_back(entries_[node].name);
    std::ranges::reverse(stack);
    return stack;
}

std::int64_t StackTree::totalNs() const
{
    return std::accumulate(entries_.begin(), entries_.end(), std::int64_t{0},
                           [](std::int64_t sum, const Entry& entry) { return sum + entry.ns; });
}

std::int64_t StackTree::totalCount() const
{
    return std::accumulate(entries_.begin(), entries_.end(), std::int64_t{0},
                           [](std::int64_t sum, const Entry& entry) { return sum + entry.count; });
}

StackTree gpuStacks(const store::RunReader& reader, const store::RunRecord& run, const ExportOptions& options)
{
    StackTree tree;
    reader.atOnce([&] { tree = StackBuilder(reader, run, options).build(); });
    return tree;
}

} // namespace tilescope::exchange
