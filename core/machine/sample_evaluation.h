#pragma once

#include "core/base/mutex.h"
#include "core/machine/cupti_functions.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tilescope::machine {

/// Samples that CUPTI has decoded into an image.
struct DecodedSamples {
    std::vector<std::uint8_t> image = {}; ///< some tens of KiB a sample
    std::vector<std::pair<std::int64_t, std::int64_t>> times =
        {};                            ///< begin and end of each, on CUPTI's clock
    std::uint64_t before = 0;          ///< number of the samples that came before
    std::vector<double> values = {};   ///< sample by sample, once they are evaluated; a constant may be 0
    std::chrono::nanoseconds spent{0}; ///< by evaluating them
};

/// Computes the values of decoded samples, on threads of its own: that takes about as long as the time between two
/// samples, and the hardware's buffer has to be emptied meanwhile. Each thread has its own description of the metrics,
/// so that CUPTI's functions share nothing but the library.
///
/// One thread, which makes it, calls the members.
class SampleEvaluation {
public:
    /// \param constants  so many of the metrics, the last ones, are evaluated for the first samples alone
    /// \param threads    at least 1
    /// \throws Error     CUPTI cannot describe the metrics
    SampleEvaluation(std::shared_ptr<SamplingFunctions> library, int device, std::vector<std::string> metrics,
                     std::size_t constants, int threads);
    ~SampleEvaluation();
    SampleEvaluation(const SampleEvaluation&) = delete;
    SampleEvaluation& operator=(const SampleEvaluation&) = delete;

    /// Whether another image may be given: those that wait take less than kMostWaiting bytes.
    bool hasRoom() const;
    void give(DecodedSamples samples);
    /// The samples that were given first, once they are evaluated.
    /// \param waits   for them
    /// \return        none: they are not evaluated yet, or there are none
    /// \throws Error  CUPTI could not evaluate them
    std::optional<DecodedSamples> take(bool waits);

private:
    static constexpr std::size_t kMostWaiting = std::size_t{512} << 20; ///< bytes

    struct Job {
        DecodedSamples samples;
        bool isBegun = false;
        bool isDone = false;
        std::exception_ptr error = {};
    };

    void run(HostMetrics& host);
    void evaluate(HostMetrics& host, DecodedSamples& samples) const;

    const std::shared_ptr<SamplingFunctions> library_;
    const int device_;
    const std::vector<std::string> metrics_;
    const std::size_t constants_;
    std::vector<std::unique_ptr<HostMetrics>> hosts_; ///< by thread
    mutable Mutex mutex_;
    std::deque<std::unique_ptr<Job>> jobs_ GUARDED_BY(mutex_); ///< in the order in which they were given
    bool ends_ GUARDED_BY(mutex_) = false;
    Condition changed_;
    std::vector<std::thread> threads_; ///< started last
};

} // namespace tilescope::machine
