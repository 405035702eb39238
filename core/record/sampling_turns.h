#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace tilescope::record {

/// A GPU samples either metrics, for `tilescope record`, or instructions, for the recorded processes. Where both are asked
/// for, metrics are first and instructions follow to the end: a page of memory that all map, the file `turns` of the
/// recording's folder, says whose turn it is. They do not alternate further, because sampling of instructions can be ended
/// without harm only where the program is idle.
struct TurnPage;

/// A recorded process' view. Its members may be called by any thread.
class InstructionTurn {
public:
    /// \return  null: instructions may be sampled all the time
    static std::unique_ptr<InstructionTurn> open(const std::filesystem::path& folder) noexcept;
    ~InstructionTurn();
    InstructionTurn(const InstructionTurn&) = delete;
    InstructionTurn& operator=(const InstructionTurn&) = delete;

    /// Whether instructions may be sampled now, and from now on.
    bool hasBegun() const noexcept;
    /// Tells that a step has ended.
    void noteStep() noexcept;

private:
    explicit InstructionTurn(TurnPage* page) : page_(page) {}
    TurnPage* page_;
};

/// The view of `tilescope record`, which decides when the turn of metrics ends: with the step at whose end three steps and a
/// second have passed since the first one ended; without steps, once the GPU has been busy for three seconds. One thread.
class MetricTurn {
public:
    using Clock = std::chrono::steady_clock;
    struct Lengths {
        Clock::duration ofSteps = std::chrono::seconds(1);
        std::uint32_t steps = 3;
        std::chrono::nanoseconds busy = std::chrono::seconds(3);
    };

    /// Creates the page.
    /// \throws Error (Environment)  it cannot be created
    explicit MetricTurn(const std::filesystem::path& folder) : MetricTurn(folder, Lengths{}) {}
    MetricTurn(const std::filesystem::path& folder, Lengths lengths);
    ~MetricTurn();
    MetricTurn(const MetricTurn&) = delete;
    MetricTurn& operator=(const MetricTurn&) = delete;

    /// Whether metrics may be sampled now. Call it some ten times a second. Once it has returned false, end the sampling and
    /// call giveTurn().
    /// \param busy  for how long the GPU was seen to work
    bool goesOn(std::chrono::nanoseconds busy);
    /// Metrics are not sampled any more.
    void giveTurn();
    /// One sentence without its full stop on the parts of the run; empty: metrics were not sampled.
    std::string sentence() const;

private:
    bool isDue(std::chrono::nanoseconds busy);

    Lengths lengths_;
    TurnPage* page_;
    std::optional<Clock::time_point> began_;     ///< at the first call
    std::optional<Clock::time_point> firstStep_; ///< when the end of one was first seen
    std::uint32_t stepsThen_ = 0;
    std::optional<Clock::time_point> ended_;
    std::uint32_t steps_ = 0; ///< that ended in the turn
};

} // namespace tilescope::record
