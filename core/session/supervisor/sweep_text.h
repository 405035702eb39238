#pragma once

#include "core/config/varying_keys.h"
#include "core/session/supervisor/supervisor.h"

#include <string>
#include <vector>

namespace tilescope::session {

/// For each point, the keys that vary among points with its name, with their values as they are stored; then which
/// repetition it is, as `1/5`, if it is repeated.
std::vector<config::KeyTexts> varyingValues(const std::vector<SweepPoint>& points);

/// The same in words: its values of the keys that vary among points with its name: `backend=flash seq_len=1024`.
/// Sizes have units: `bucket=1 MiB`. Empty if no other point has the name.
std::vector<std::string> keyLabels(const std::vector<SweepPoint>& points);

/// The name, followed by keyLabels() if there are several points with it: `flash-grid backend=flash
/// seq_len=1024`.
std::vector<std::string> pointLabels(const std::vector<SweepPoint>& points);

bool haveSeveralNames(const std::vector<SweepPoint>& points);

/// "1 point", "12 points"; "12 runs" if a point is repeated.
std::string pointsText(const std::vector<SweepPoint>& points);

/// The steps of a point: warm-up, measured and traced ones, at least 1.
std::int64_t stepsOf(const ExperimentSpec& spec);
/// Those before the first step of a state of the engine: warmup, measure, trace. 0 for the others.
std::int64_t stepsBefore(const ExperimentSpec& spec, std::string_view state);

/// 4.2 s, 1m20s, 3h05m.
std::string durationText(double seconds);

} // namespace tilescope::session
