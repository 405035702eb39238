// Predicts recorded points again, from their specs and the calibration that belongs to them, without the
// recording: how far off this version's predictions of time are; with --rows what it predicts for each, one
// JSON object a line. With --cross, how far off points are that had no part in choosing the figures of
// core/predict/time_figures.h: they are chosen again, from the middle of what is physically sensible, without
// one study or one size at a time.
// --choose does that with all points, and prints the figures.
//
//     bench_predict RESULTS.json [--rows] [--points] [--cross] [--choose] [--rounds 240]

#include "core/base/error.h"
#include "core/predict/predict_memory.h"
#include "tests/bench/predict/recorded_rows.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <random>

using namespace tilescope;
using bench::RecordedRow;
using bench::RecordedRows;
using predict::TimeFigures;

namespace {

struct Bounds {
    const char* name;
    double TimeFigures::*figure;
    double least, most;
};

constexpr std::array kBounds{
    Bounds{"kernelSeconds", &TimeFigures::kernelSeconds, 1e-6, 2.5e-6},
    Bounds{"replayPhaseSeconds", &TimeFigures::replayPhaseSeconds, 8e-6, 25e-6},
    Bounds{"forwardPhaseSeconds", &TimeFigures::forwardPhaseSeconds, 4e-6, 40e-6},
    Bounds{"backwardPhaseSeconds", &TimeFigures::backwardPhaseSeconds, 20e-6, 120e-6},
    Bounds{"forwardOps", &TimeFigures::forwardOps, 1.2, 3.2},
    Bounds{"backwardOps", &TimeFigures::backwardOps, 1.2, 4.5},
    Bounds{"plainOps", &TimeFigures::plainOps, 0.5, 1.6},
    Bounds{"coldShare", &TimeFigures::coldShare, 0.3, 2.5},
    Bounds{"coldOps", &TimeFigures::coldOps, 8, 200},
    Bounds{"streamShare", &TimeFigures::streamShare, 0.7, 0.95},
    Bounds{"narrowShare", &TimeFigures::narrowShare, 0.5, 0.95},
    Bounds{"cachedShare", &TimeFigures::cachedShare, 1, 3},
    Bounds{"rowSeconds", &TimeFigures::rowSeconds, 0.05e-6, 2e-6},
    Bounds{"tf32Share", &TimeFigures::tf32Share, 0.6, 1},
};

constexpr double kWithin = 0.25;

double errorOf(const RecordedRow& row, predict::DeviceRates& rates, const TimeFigures& figures)
{
    rates.figures = figures;
    return predict::stepSeconds(row.spec, row.work, rates) * 1e3 / *row.measuredMs - 1;
}

using Rows = std::vector<const RecordedRow*>;

/// The measure of a choice: errors, with limited weight of outliers, and the number of errors beyond the
/// target.
double lossOf(const Rows& rows, predict::DeviceRates& rates, const TimeFigures& figures)
{
    double sum = 0;
    for (const RecordedRow* row : rows) {
        const double error = std::abs(errorOf(*row, rates, figures));
        sum += std::min(error, 0.6) + 0.4 * std::clamp((error - 0.15) / (kWithin - 0.15), 0.0, 1.0);
    }
    return sum / static_cast<double>(rows.size());
}

/// Random search with shrinking steps from the middle of the bounds. Deterministic.
TimeFigures chosen(const Rows& rows, predict::DeviceRates rates, int rounds)
{
    std::mt19937 random(1);
    std::uniform_real_distribution<double> step(-0.5, 0.5);
    TimeFigures best;
    for (const Bounds& bounds : kBounds)
        best.*bounds.figure = std::sqrt(bounds.least * bounds.most);
    double loss = lossOf(rows, rates, best);
    double width = 0.6;
    for (int round = 0; round < rounds; ++round) {
        TimeFigures next = best;
        for (int changed = 1 + static_cast<int>(random() % 3); changed > 0; --changed) {
            const Bounds& bounds = kBounds[random() % kBounds.size()];
            double& figure = next.*bounds.figure;
            figure = std::clamp(figure * std::pow(bounds.most / bounds.least, width * step(random)),
                                bounds.least, bounds.most);
        }
        if (const double nextLoss = lossOf(rows, rates, next); nextLoss < loss) {
            loss = nextLoss;
            best = next;
        }
        if (round % (rounds / 5 + 1) == rounds / 5)
            width *= 0.6;
    }
    return best;
}

struct Errors {
    std::vector<double> values;

    std::vector<double> sizes() const
    {
        std::vector<double> sizes(values.size());
        std::ranges::transform(values, sizes.begin(), [](double e) { return std::abs(e); });
        std::ranges::sort(sizes);
        return sizes;
    }
    std::ptrdiff_t within() const
    {
        return std::ranges::count_if(values, [](double e) { return std::abs(e) <= kWithin; });
    }
    std::string text() const
    {
        const std::vector<double> all = sizes();
        return fmt::format(
            "{:4} of {:4} within 25 %, median {:4.1f} %, nine in ten {:5.1f} %, worst {:5.1f} %", within(),
            all.size(), 100 * all[all.size() / 2], 100 * all[all.size() * 9 / 10], 100 * all.back());
    }
    nlohmann::json json() const
    {
        const auto percent = [](double share) { return std::round(1000 * share) / 10; };
        const std::vector<double> all = sizes();
        return {{"points", all.size()},
                {"within_25_percent", within()},
                {"median_percent", percent(all[all.size() / 2])},
                {"nine_in_ten_percent", percent(all[all.size() * 9 / 10])},
                {"worst_percent", percent(all.back())}};
    }
};

using RowErrors = std::vector<std::pair<const RecordedRow*, double>>;

/// The predicted share of a step in which the device is idle.
std::string idleOf(const RecordedRow& row, const predict::DeviceRates& rates)
{
    const double idle = predict::idleShare(row.spec, row.work, rates);
    if (idle <= 0.05)
        return "idle 0 to 5 %";
    if (idle <= 0.2)
        return "idle 5 to 20 %";
    return idle <= 0.5 ? "idle 20 to 50 %" : "idle over 50 %";
}

/// \return  the errors of each group, and of all
nlohmann::json print(const predict::DeviceRates& rates, const RowErrors& errors)
{
    std::map<std::string, Errors> groups;
    for (const auto& [row, error] : errors) {
        groups["kind: " + row->kind].values.push_back(error);
        groups["study: " + row->study].values.push_back(error);
        if (rates.isCuda)
            groups["device " + idleOf(*row, rates)].values.push_back(error);
        groups["~ all"].values.push_back(error);
    }
    nlohmann::json report;
    for (const auto& [name, group] : groups) {
        fmt::print("  {:28} {}\n", name, group.text());
        report[name.starts_with('~') ? "all" : name] = group.json();
    }
    return report;
}

Rows timedRows(const RecordedRows& recorded, const std::function<bool(const RecordedRow&)>& isTaken)
{
    Rows rows;
    for (const RecordedRow& row : recorded.rows)
        if (row.measuredMs && isTaken(row))
            rows.push_back(&row);
    return rows;
}

nlohmann::json crossValidate(const char* what, RecordedRows& recorded, int rounds,
                             const std::function<std::string(const RecordedRow&)>& groupOf)
{
    std::map<std::string, Rows> groups;
    for (const RecordedRow* row : timedRows(recorded, [](const RecordedRow&) { return true; }))
        groups[groupOf(*row)].push_back(row);
    RowErrors errors;
    predict::DeviceRates rates = recorded.rates;
    for (const auto& [name, held] : groups) {
        const std::string& left = name;
        const Rows others = timedRows(recorded, [&](const RecordedRow& row) { return groupOf(row) != left; });
        const TimeFigures figures = chosen(others, recorded.rates, rounds);
        for (const RecordedRow* row : held)
            errors.emplace_back(row, errorOf(*row, rates, figures));
    }
    fmt::print("without the {} that is predicted:\n", what);
    return print(recorded.rates, errors);
}

void printRows(const RecordedRows& recorded)
{
    const auto orNull = [](const std::optional<Bytes>& bytes) {
        return bytes ? nlohmann::json(bytes->count) : nlohmann::json();
    };
    for (const RecordedRow& row : recorded.rows) {
        const auto memory = predict::predictMemory(row.spec, recorded.device);
        const auto time = predict::predictTime(row.spec, recorded.device, recorded.rates);
        nlohmann::json report;
        if (memory)
            report = {{"peak_allocated", memory->peakAllocated.count},
                      {"peak_reserved", orNull(memory->peakReserved)},
                      {"before_backward", orNull(memory->beforeBackward)},
                      {"expected", memory->outOfMemory ? "oom" : "ok"}};
        report["step_ms"] = time ? nlohmann::json(time->stepSeconds * 1e3) : nlohmann::json();
        std::cout << report.dump() << '\n';
    }
}

int run(const std::vector<std::string>& arguments)
{
    const auto has = [&](const char* flag) { return std::ranges::find(arguments, flag) != arguments.end(); };
    const auto rounds = std::ranges::find(arguments, "--rounds");
    const int count = rounds == arguments.end() ? 240 : std::stoi(*(rounds + 1));
    RecordedRows recorded = bench::recordedRows(arguments.at(0));
    if (has("--rows")) {
        printRows(recorded);
        return 0;
    }
    const Rows timed = timedRows(recorded, [](const RecordedRow&) { return true; });
    TimeFigures figures;
    if (has("--choose")) {
        figures = chosen(timed, recorded.rates, count);
        for (const Bounds& bounds : kBounds)
            fmt::print("{} = {:.3g}\n", bounds.name, figures.*bounds.figure);
    }
    RowErrors errors;
    predict::DeviceRates rates = recorded.rates;
    for (const RecordedRow* row : timed)
        errors.emplace_back(row, errorOf(*row, rates, figures));
    if (has("--points"))
        for (const auto& [row, error] : errors)
            fmt::print("{:+6.1f} % {:10.4f} ms {} {} {} d_head {} layers {} context {}\n", 100 * error,
                       *row->measuredMs, row->study, row->kind, row->size, row->spec.headDim,
                       row->spec.layers, row->spec.context);
    fmt::print("{}:\n", has("--choose") ? "figures chosen by these points" : "the shipped figures");
    nlohmann::json report{{"in_sample", print(rates, errors)}};
    if (has("--cross")) {
        report["without_its_study"] =
            crossValidate("study", recorded, count, [](const RecordedRow& row) { return row.study; });
        report["without_its_size"] =
            crossValidate("size", recorded, count, [](const RecordedRow& row) { return row.size; });
    }
    std::cout << report.dump() << '\n';
    return 0;
}

} // namespace

int main(int argc, char** argv)
{
    try {
        if (argc < 2)
            throw Error{.what = "no results",
                        .remedy = "bench_predict RESULTS.json [--rows] [--cross] [--choose]"};
        return run({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
