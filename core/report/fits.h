#pragma once

#include "core/report/study_runs.h"
#include "core/report/template.h"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tilescope::report {

struct CurvePoint {
    double x = 0;
    double y = 0;
    double error = 0; ///< standard error of log y between runs; 0: exact
    double dof = 1;   ///< degrees of freedom of `error`
};

/// The quantity of a finding as a function of its key `x`, for one value of its key `series`.
struct Curve {
    std::string name = {};
    std::vector<CurvePoint> points = {}; ///< sorted by x; from the medians of the runs with status ok
};

/// Points with equal x are combined by their geometric mean: a curve over several d_head has one value per
/// length.
std::vector<Curve> curvesOf(const FindingTemplate& wanted, const StudyRuns& study);

/// y = c x^exponent.
struct PowerLaw {
    double exponent = 0;
    double low = 0, high = 0; ///< Student's 95 % interval of the exponent
    std::size_t points = 0;
};

/// The least number of points through which powerLaw() puts a line.
inline constexpr std::size_t kLeastForSlope = 3;

/// Least squares on logarithms through the larger half of the points by x, at least kLeastForSlope. None with fewer
/// points or with values <= 0. O(n).
std::optional<PowerLaw> powerLaw(std::span<const CurvePoint> points);

/// The x from which `second` stays below `first` by more than runs differ (Welch's test on the logarithms, 5 %),
/// as text: `from 512 on`, `from the first point, 128, on`, `nowhere up to 16384`, `inconclusive, at 512 they differ
/// by no more than runs do`. Inconclusive points below follow: `from 512 on (inconclusive at 256)`. None if they
/// share fewer than two x.
std::optional<std::string> crossoverOf(const std::vector<Curve>& curves, const std::string& first,
                                       const std::string& second);

/// y = a + b x + c x².
struct Parabola {
    std::array<double, 3> terms{}; ///< a, b, c
    std::optional<std::array<double, 3>> half =
        {}; ///< half of Student's 95 % interval of each; none with three points

    double operator()(double x) const { return terms[0] + terms[1] * x + terms[2] * x * x; }
};

/// Least squares; none with fewer than three different x. O(n).
std::optional<Parabola> parabola(std::span<const CurvePoint> points);

/// The x at which memory runs out.
struct Boundary {
    std::string why = {}; ///< why it cannot be determined; otherwise empty
    std::string formula = {};
    double limit = 0; ///< bytes
    double predicted = 0;
    double largestOk = 0;
    std::optional<double> leastOom = {};
    bool agrees = false; ///< the prediction lies between largestOk and leastOom
};

Boundary boundaryOf(const FindingTemplate& wanted, const StudyRuns& study);

} // namespace tilescope::report
