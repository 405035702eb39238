#pragma once

#include "core/analysis/waiting/host_cause.h"
#include "core/query/waiting/waiting_records.h"

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::query {

/// A line of code with its idle time.
struct WaitingLine {
    std::string place = {};                                    ///< "train.py:41 in step"
    Nanoseconds time{0};                                       ///< in all steps
    std::optional<analysis::ConfidenceInterval> interval = {}; ///< of `time`, ns, 95 %; none: it is exact
};

/// The place between two launches with most idle time.
struct WaitingPlaceFact {
    std::string from = {}; ///< "modeling_llama.py:262"
    std::string to = {};
    Nanoseconds time{0};    ///< in all steps
    std::int64_t count = 0; ///< idle intervals
    std::int64_t most = 0;  ///< of them, the longest ones, which take 90 % of the time
    std::string work = {};  ///< name of the kernel, copy or memset that ended the longest
    Nanoseconds median{0};  ///< of all
    Nanoseconds longest{0};
};

/// The lines of code behind the idle time of a run, for advice. Empty without stacks of the host.
class WaitingAdvice {
public:
    explicit WaitingAdvice(const WaitingRecords& records);

    bool isKnown() const { return isKnown_; }
    /// The idle time in all steps of these causes.
    Nanoseconds timeOf(std::initializer_list<analysis::HostCause> causes) const;
    /// The program's lines of these causes, the costliest first, those without a line last. Their times add up to timeOf().
    std::vector<WaitingLine> linesOf(std::initializer_list<analysis::HostCause> causes) const;
    /// The outermost function `forward` of a module that PyTorch does not define, below which most idle time is: "forward
    /// of modeling_llama.py:26". None: there is none.
    std::optional<WaitingLine> module() const;
    /// Whether a thread waited for batches that worker processes of PyTorch's DataLoader load.
    bool loadsInWorkers() const { return loadsInWorkers_; }
    /// None: the launches are not recorded.
    const std::optional<WaitingPlaceFact>& place() const { return place_; }

private:
    struct Part {
        analysis::HostCause cause;
        WaitingLine line; ///< place empty: no line of code
    };
    bool isKnown_ = false;
    bool loadsInWorkers_ = false;
    std::vector<Part> parts_;
    std::map<std::string, analysis::ConfidenceInterval> lines_; ///< by place: its time, whatever the cause
    std::optional<WaitingLine> module_;
    std::optional<WaitingPlaceFact> place_;
};

} // namespace tilescope::query
