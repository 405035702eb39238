#pragma once

#include "core/exchange/import/foreign_rows.h"

#include <cstdint>
#include <vector>

namespace tilescope::exchange {

/// Rules "duplicates" and "order of a stream", for the device rows of a trace in the order of sortRows(). One thread.
///
/// Kernels of one stream run in order: what ends after its successor has ended has a wrong time. Nodes of CUDA graphs, and
/// activities of one launch, may run side by side, and the time of a copy may include its wait.
class ActivityOrder {
public:
    struct Finding {
        bool isDuplicate = false; ///< equals the row before it
        bool isDoubtful =
            false; ///< an earlier row of the stream outlasts this one, in the time from `from` to `to`
        std::int64_t from = 0;
        std::int64_t to = 0;
    };

    /// \param trace  must outlive the object
    explicit ActivityOrder(const ForeignTrace& trace);

    Finding next(const DeviceRow& row);
    std::int64_t duplicates() const { return duplicates_; }
    std::int64_t outlasting() const { return outlasting_; } ///< kernels that outlast a successor

private:
    bool isSame(const DeviceRow& a, const DeviceRow& b) const;

    struct OfStream {
        const DeviceRow* longest = nullptr; ///< that ends last
        bool isCounted = false;
    };

    const ForeignTrace& trace_;
    std::vector<OfStream> streams_;
    const DeviceRow* before_ = nullptr;
    std::int64_t duplicates_ = 0;
    std::int64_t outlasting_ = 0;
};

} // namespace tilescope::exchange
