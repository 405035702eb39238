#pragma once

#include "core/base/units.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace tilescope::exchange {

/// Finds the call that started a kernel of NCCL. One thread.
///
/// A call belongs to the kernel that was launched in it or, for calls in a group, after it on the same thread.
class CollectiveCalls {
public:
    /// \param thread  any number that identifies it
    /// \param op      all_reduce; a literal, or kept alive by the caller
    /// \param index   the caller's number of the call
    void add(std::int64_t thread, std::string_view op, Timestamp start, Timestamp end, std::size_t index)
    {
        calls_[thread].push_back({op, start, end, index, false});
        sorted_ = false;
    }
    /// Assigns a call to a kernel; later kernels cannot take it. Call it for the kernels in the order of their launches.
    /// \param op  of the kernel's name; empty: NCCL's generic kernel
    /// \return    the caller's number of the call
    std::optional<std::size_t> take(std::int64_t thread, std::string_view op, Timestamp launched);
    /// The caller's numbers of the calls that no kernel has taken.
    std::vector<std::size_t> rest() const;

private:
    struct Call {
        std::string_view op;
        Timestamp start;
        Timestamp end;
        std::size_t index = 0;
        bool taken = false;
    };

    std::map<std::int64_t, std::vector<Call>> calls_; ///< by thread
    bool sorted_ = true;
};

} // namespace tilescope::exchange
