#include "core/report/fits.h"

#include "core/analysis/stats/student_t.h"
#include "core/config/schema.h"
#include "core/exchange/tables/number.h"
#include "core/report/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace tilescope::report {

namespace {

bool passes(std::optional<double> at)
{
    return at && std::isfinite(*at) && *at > 0;
}

std::optional<double> at(const RunFacts& run, const std::string& key)
{
    const auto number = run.number(key);
    return number ? std::optional(number->value) : std::nullopt;
}

/// Solves a symmetric 3 x 3 system by elimination with pivoting; none if it is singular.
std::optional<std::array<double, 3>> solved(std::array<std::array<double, 4>, 3> rows)
{
    for (std::size_t column = 0; column < 3; ++column) {
        std::size_t pivot = column;
        for (std::size_t row = column + 1; row < 3; ++row)
            if (std::abs(rows[row][column]) > std::abs(rows[pivot][column]))
                pivot = row;
        std::swap(rows[column], rows[pivot]);
        if (std::abs(rows[column][column]) < 1e-12)
            return {};
        for (std::size_t row = 0; row < 3; ++row) {
            if (row == column)
                continue;
            const double factor = rows[row][column] / rows[column][column];
            for (std::size_t i = column; i < 4; ++i)
                rows[row][i] -= factor * rows[column][i];
        }
    }
    return std::array{rows[0][3] / rows[0][0], rows[1][3] / rows[1][1], rows[2][3] / rows[2][2]};
}

/// `(45,800,000 ± 1,200,000) + (6,490 ± 700) N + 161 N² bytes`. A term has its 95 % interval if it is visible
/// in three digits.
std::string formulaOf(const Parabola& fit)
{
    constexpr std::array kPowers{"", " N", " N²"};
    constexpr double kSeen = 5e-4;
    const exchange::Scale plain;
    std::string text;
    bool intervals = false;
    for (std::size_t i = 0; i < 3; ++i) {
        const double term = fit.terms[i];
        const bool wide = fit.half && (*fit.half)[i] > kSeen * std::abs(term);
        intervals = intervals || wide;
        text += (i == 0 ? "" : " + ") +
                (wide ? fmt::format("({} ± {})", plain.text(term), plain.text((*fit.half)[i]))
                      : plain.text(term)) +
                kPowers[i];
    }
    return text + " bytes" + (intervals ? ", ± 95 %" : "");
}

/// The sign of a difference at one x.
struct SignAt {
    double x = 0;
    int sign = 0;
};

/// ` (inconclusive at 256, 512 and 2048)`, or ` (inconclusive at every point below)`; empty if no point is.
std::string inconclusiveBelow(std::span<const SignAt> points)
{
    std::vector<std::string> open;
    for (const SignAt& point : points)
        if (point.sign == 0)
            open.push_back(fmt::format("{:.0f}", point.x));
    if (open.empty())
        return {};
    if (open.size() > 1 && open.size() == points.size())
        return " (inconclusive at every point below)";
    std::string list = open.front();
    for (std::size_t i = 1; i < open.size(); ++i)
        list += (i + 1 == open.size() ? " and " : ", ") + open[i];
    return " (inconclusive at " + list + ")";
}

} // namespace

// -1: b is below a; 1: b is above a; 0: inconclusive.
int signOf(const CurvePoint& a, const CurvePoint& b)
{
    const double difference = std::log(b.y) - std::log(a.y);
    const double variance = a.error * a.error + b.error * b.error;
    if (variance > 0) {
        // Degrees of freedom after Welch and Satterthwaite.
        const double dof =
            variance * variance / (std::pow(a.error, 4) / a.dof + std::pow(b.error, 4) / b.dof);
        if (std::abs(difference) <= analysis::studentCritical(0.05, dof) * std::sqrt(variance))
            return 0;
    }
    return difference < 0 ? -1 : difference > 0 ? 1 : 0;
}

/// The runs at one x. Runs of one spec are repeats; each spec counts once.
class RunsAtX {
public:
    void add(const RunFacts& run, const std::string& metric, double y)
    {
        Repeats& repeats = bySpec_[run.record().specHash];
        repeats.logs += std::log(y);
        ++repeats.count;
        if (auto timed = run.timed(metric))
            repeats.runs.push_back(std::move(*timed));
    }
    CurvePoint at(double x) const
    {
        const auto specs = static_cast<double>(bySpec_.size());
        double logs = 0;
        double variance = 0;
        double degrees = 0;
        for (const auto& [hash, repeats] : bySpec_) {
            logs += repeats.logs / repeats.count;
            if (repeats.runs.empty())
                continue;
            const analysis::BetweenRuns between = analysis::betweenRuns(repeats.runs, {});
            variance += between.deviation * between.deviation / repeats.count;
            // The assumed deviation of two single runs has the degrees of freedom of both.
            degrees += between.isMeasured() ? between.degrees : between.degrees / 2;
        }
        return {x, std::exp(logs / specs), std::sqrt(variance) / specs, std::max(degrees, 1.0)};
    }

private:
    struct Repeats {
        double logs = 0;
        int count = 0;
        std::vector<analysis::TimedRun> runs;
    };
    std::map<std::string, Repeats> bySpec_;
};

std::vector<Curve> curvesOf(const FindingTemplate& wanted, const StudyRuns& study)
{
    std::map<std::string, std::map<double, RunsAtX>> series;
    for (const auto& run : select(study, wanted.part, wanted.quantity.from)) {
        const std::optional<double> x = at(*run, wanted.x);
        const auto y = run->status() == RunStatus::Ok ? run->number(wanted.quantity.value) : std::nullopt;
        if (!passes(x) || !y || !(y->value > 0))
            continue;
        series[wanted.series.empty() ? "" : std::string(run->param(wanted.series))][*x].add(
            *run, wanted.quantity.value, y->value);
    }
    std::vector<Curve> curves;
    for (const auto& [name, points] : series) {
        Curve& curve = curves.emplace_back(Curve{.name = name});
        for (const auto& [x, runs] : points)
            curve.points.push_back(runs.at(x));
    }
    return curves;
}

std::optional<PowerLaw> powerLaw(std::span<const CurvePoint> points)
{
    if (points.size() < kLeastForSlope)
        return {};
    const std::size_t taken = std::max(kLeastForSlope, (points.size() + 1) / 2);
    const auto tail = points.last(taken);
    const auto n = static_cast<double>(taken);
    double meanX = 0;
    double meanY = 0;
    for (const CurvePoint& point : tail) {
        if (!(point.x > 0) || !(point.y > 0))
            return {};
        meanX += std::log(point.x) / n;
        meanY += std::log(point.y) / n;
    }
    double xx = 0;
    double xy = 0;
    for (const CurvePoint& point : tail) {
        xx += (std::log(point.x) - meanX) * (std::log(point.x) - meanX);
        xy += (std::log(point.x) - meanX) * (std::log(point.y) - meanY);
    }
    if (xx <= 0)
        return {};
    const double slope = xy / xx;
    double residual = 0;
    for (const CurvePoint& point : tail)
        residual += std::pow(std::log(point.y) - meanY - slope * (std::log(point.x) - meanX), 2);
    const double half = analysis::studentCritical(0.05, n - 2) * std::sqrt(residual / (n - 2) / xx);
    return PowerLaw{slope, slope - half, slope + half, taken};
}

std::optional<std::string> crossoverOf(const std::vector<Curve>& curves, const std::string& first,
                                       const std::string& second)
{
    const auto curve = [&curves](const std::string& name) {
        return std::ranges::find(curves, name, &Curve::name);
    };
    const auto a = curve(first);
    const auto b = curve(second);
    if (a == curves.end() || b == curves.end())
        return {};
    std::vector<SignAt> common;
    for (const CurvePoint& point : a->points)
        for (const CurvePoint& other : b->points)
            if (other.x == point.x)
                common.push_back({point.x, signOf(point, other)});
    if (common.size() < 2)
        return {};
    std::size_t from = common.size();
    while (from > 0 && common[from - 1].sign < 0)
        --from;
    if (from == 0)
        return fmt::format("from the first point, {:.0f}, on", common.front().x);
    if (from == common.size() && common.back().sign == 0)
        return fmt::format("inconclusive, at {:.0f} they differ by no more than runs do", common.back().x);
    return (from == common.size() ? fmt::format("nowhere up to {:.0f}", common.back().x)
                                  : fmt::format("from {:.0f} on", common[from].x)) +
           inconclusiveBelow(std::span(common).first(from));
}

std::optional<Parabola> parabola(std::span<const CurvePoint> points)
{
    if (points.size() < 3)
        return {};
    // Scaled to about 1, because the fourth powers of a length would lose the small terms.
    double scale = 0;
    for (const CurvePoint& point : points)
        scale = std::max(scale, std::abs(point.x));
    std::array<std::array<double, 4>, 3> rows{};
    for (const CurvePoint& point : points) {
        const std::array powers{1.0, point.x / scale, point.x / scale * point.x / scale};
        for (std::size_t row = 0; row < 3; ++row) {
            for (std::size_t column = 0; column < 3; ++column)
                rows[row][column] += powers[row] * powers[column];
            rows[row][3] += powers[row] * point.y;
        }
    }
    const auto found = solved(rows);
    if (!found)
        return {};
    const std::array unscale{1.0, 1 / scale, 1 / scale / scale};
    Parabola fit;
    for (std::size_t i = 0; i < 3; ++i)
        fit.terms[i] = (*found)[i] * unscale[i];
    if (points.size() == 3)
        return fit;
    double residual = 0;
    for (const CurvePoint& point : points)
        residual += std::pow(point.y - fit(point.x), 2);
    const auto freedom = static_cast<double>(points.size() - 3);
    const double critical = analysis::studentCritical(0.05, freedom);
    fit.half.emplace();
    for (std::size_t i = 0; i < 3; ++i) {
        // The diagonal of the inverse holds the variances of the terms.
        for (std::size_t row = 0; row < 3; ++row)
            rows[row][3] = row == i ? 1 : 0;
        const auto column = solved(rows);
        (*fit.half)[i] =
            column ? critical * std::sqrt(residual / freedom * std::max((*column)[i], 0.0)) * unscale[i] : 0;
    }
    return fit;
}

Boundary boundaryOf(const FindingTemplate& wanted, const StudyRuns& study)
{
    Boundary boundary;
    std::vector<CurvePoint> fits;
    for (const auto& run : select(study, wanted.part, wanted.quantity.from)) {
        const std::optional<double> x = at(*run, wanted.x);
        if (!passes(x))
            continue;
        if (const auto spec = config::fromJson(run->record().specJson); spec.memoryLimit)
            boundary.limit = static_cast<double>(spec.memoryLimit->count);
        const auto peak = run->number("reserved") ? run->number("reserved") : run->number("peak");
        if (run->status() == RunStatus::Ok && peak)
            fits.push_back({*x, peak->value});
        else if (run->status() == RunStatus::Oom)
            boundary.leastOom = std::min(*x, boundary.leastOom.value_or(*x));
    }
    for (const CurvePoint& point : fits)
        boundary.largestOk = std::max(boundary.largestOk, point.x);
    const auto fit = parabola(fits);
    if (boundary.limit == 0)
        boundary.why = "the points have no memory_limit.";
    else if (!fit)
        boundary.why = "fewer than three points fit.";
    else if (fit->terms[2] <= 0)
        boundary.why = "the peaks do not grow with the square of " + wanted.x + ".";
    if (!boundary.why.empty())
        return boundary;
    const auto& [a, b, c] = fit->terms;
    boundary.predicted = (-b + std::sqrt(b * b - 4 * c * (a - boundary.limit))) / (2 * c);
    boundary.formula = formulaOf(*fit);
    boundary.agrees = boundary.predicted >= boundary.largestOk &&
                      (!boundary.leastOom || boundary.predicted <= *boundary.leastOom);
    return boundary;
}

} // namespace tilescope::report
