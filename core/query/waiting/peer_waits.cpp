#include "core/query/waiting/peer_waits.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace tilescope::query {

void addPeers(const RanksTable& ranks, WaitingRecords& records)
{
    constexpr std::int64_t kLeastShare = 100; // of the time of the process' GPUs
    std::map<std::optional<std::int32_t>, const ProcessIdle*> processes;
    for (const ProcessIdle& process : records.processes)
        processes.emplace(process.numbers.process, &process);
    struct Sum {
        PeerWait wait;
        std::set<std::int32_t> steps;
        const ProcessIdle* process = nullptr;
    };
    std::map<std::pair<std::optional<std::int32_t>, std::string>, Sum> sums;
    for (const CollectiveRow& row : ranks.collectives) {
        if (row.last.empty())
            continue;
        for (const CollectiveRank& rank : row.ranks) {
            const auto process = processes.find(rank.numbers.process);
            if (process == processes.end() || rank.waitExposed.count() <= 0 ||
                (process->second->steps > 0 &&
                 (row.step == kNoStep || !records.choice.isTypical(rank.numbers.process, row.step))))
                continue;
            Sum& sum = sums[{rank.numbers.process, row.last}];
            sum.process = process->second;
            sum.wait.title = rank.title;
            sum.wait.last = row.last;
            sum.wait.lastRank = row.lastRank;
            sum.wait.time += rank.waitExposed;
            sum.wait.isOnHost = !rank.device;
            sum.steps.insert(row.step);
        }
    }
    for (auto& [pair, sum] : sums) {
        sum.wait.steps = sum.process->steps;
        sum.wait.waitsIn = std::ssize(sum.steps);
        Nanoseconds whole{0};
        for (const auto& [device, idle] : sum.process->devices)
            whole = std::max(whole, idle.total + idle.busy);
        if (whole.count() > 0 && kLeastShare * sum.wait.time >= whole)
            records.peers.push_back(std::move(sum.wait));
    }
    std::ranges::stable_sort(records.peers, std::ranges::greater{}, &PeerWait::perStep);
}

} // namespace tilescope::query
