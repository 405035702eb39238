#pragma once

#include "core/predict/device_rates.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace tilescope::predict {

/// One piece of a phase's work, with the properties that determine its time.
struct Work {
    enum class Kind : std::uint8_t {
        Product, ///< `count` products of (m, k) by (k, n) in one kernel
        Move,    ///< a kernel that moves `bytes`, with `count` thread blocks of one row each; 0: any number
        Fused,   ///< a kernel that takes `seconds`, or the time to move `bytes` if longer
        Repeat,  ///< `count` kernels below autograd that move `bytes` in total
        Views,   ///< `count` host operations without a kernel
        Prepare  ///< additional host work of a call, in units of `count` operations
    };
    Kind kind = Kind::Move;
    Type type = Type::Float32;
    bool isTf32 = false;
    bool isBackward = false;
    double count = 0;
    double m = 0, n = 0, k = 0;
    double bytes = 0;
    double seconds = 0;
};

/// The work of operations, in launch order.
class WorkLog {
public:
    explicit WorkLog(const DeviceRates& rates) : rates_(rates) {}

    const DeviceRates& rates() const { return rates_; }
    void setBackward(bool isBackward) { isBackward_ = isBackward; }
    void product(Type type, bool isTf32, std::int64_t count, double m, double n, double k)
    {
        add({.kind = Work::Kind::Product,
             .type = type,
             .isTf32 = isTf32,
             .count = static_cast<double>(count),
             .m = m,
             .n = n,
             .k = k});
    }
    /// \param type  of its values: types of two bytes are moved in smaller pieces
    void move(double bytes, Type type = Type::Float32, double rows = 0)
    {
        add({.type = type, .count = rows, .bytes = bytes});
    }
    void fused(double seconds, double bytes)
    {
        add({.kind = Work::Kind::Fused, .bytes = bytes, .seconds = seconds});
    }
    void repeat(double times, double bytes)
    {
        if (times > 0)
            add({.kind = Work::Kind::Repeat, .count = times, .bytes = bytes});
    }
    void views(double count) { add({.kind = Work::Kind::Views, .count = count}); }
    void prepare(double operations) { add({.kind = Work::Kind::Prepare, .count = operations}); }

    /// The work added since the last call.
    std::vector<Work> take() { return std::exchange(works_, {}); }

private:
    void add(Work work)
    {
        work.isBackward = isBackward_;
        works_.push_back(work);
    }

    const DeviceRates& rates_;
    std::vector<Work> works_;
    bool isBackward_ = false;
};

} // namespace tilescope::predict
