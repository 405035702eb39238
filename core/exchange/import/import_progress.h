#pragma once

#include "core/base/error.h"
#include "core/exchange/import/trace_builder.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace tilescope::exchange {

/// Tells an import's watch how far it is, and ends the import when the watch says so. One thread.
class ImportProgress {
public:
    /// \param file   for the error message of a cancelled import
    /// \param total  steps of the whole import, about
    ImportProgress(const ImportWatch& watch, std::string file, std::int64_t total)
        : watch_(watch), file_(std::move(file)), total_(std::max<std::int64_t>(total, 1))
    {
    }

    /// Call it once per record.
    /// \throws Error (Failure)  the watch cancelled
    void step()
    {
        if (++done_ % kSteps == 0)
            tell();
    }

private:
    static constexpr std::int64_t kSteps = 1 << 16;

    void tell() const
    {
        const double share = static_cast<double>(done_) / static_cast<double>(total_);
        if (watch_ && !watch_(std::min(share, 1.0)))
            throw Error{.what = "the import was cancelled", .where = file_, .kind = ErrorKind::Failure};
    }

    const ImportWatch& watch_;
    std::string file_;
    std::int64_t total_;
    std::int64_t done_ = 0;
};

} // namespace tilescope::exchange
