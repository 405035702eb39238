#pragma once

#include "core/exchange/import/collective_calls.h"
#include "core/exchange/import/trace_builder.h"
#include "core/record/working_file.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::exchange {

/// The collectives of one recorded process: the calls that the recorder noted and NCCL's kernels become rows of the run.
/// One thread.
class RecordedCollectives {
public:
    using Text = std::function<std::string_view(std::uint32_t string)>;
    void addCall(const record::CollectiveRow& row, const Text& text);
    /// Takes any kernel; ignores those of others than NCCL.
    void addKernel(const record::ActivityRow& row, std::string_view name);
    /// Adds all collectives to the builder. Call it once, last.
    void addTo(TraceBuilder& builder, ProcessIndex process);

private:
    struct Call {
        record::CollectiveRow row = {};
        std::string op, group, ranks, dtype;
    };
    struct Kernel {
        std::uint32_t thread = 0;
        std::uint32_t correlation = 0;
        std::string op, dtype;
        Timestamp launched;
    };
    void mergeCallsOfNccl();
    static ForeignCollective described(const Call& call);

    std::vector<Call> calls_;
    std::vector<Kernel> kernels_;
};

} // namespace tilescope::exchange
