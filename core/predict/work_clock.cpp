#include "core/predict/work_clock.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tilescope::predict {

namespace {

/// Tile sizes of cuBLAS, and the share of the full rate that each can reach.
struct Tile {
    double rows, columns, share;
};
constexpr std::array kTiles{Tile{256, 128, 1.0}, Tile{128, 128, 0.95}, Tile{128, 64, 0.85},
                            Tile{64, 64, 0.75},  Tile{64, 32, 0.55},   Tile{32, 32, 0.35}};

double wavesShare(double tiles, double slots)
{
    const double waves = std::ceil(tiles / slots);
    return tiles / (waves * slots);
}

double moveSeconds(double bytes, Type type, const DeviceRates& rates)
{
    const TimeFigures& figures = rates.figures;
    double share = bytesOf(type) == 2 ? figures.narrowShare : figures.streamShare;
    if (rates.isCuda && bytes < figures.cacheBytes)
        share *= figures.cachedShare;
    return bytes / (rates.bytes * share);
}

/// The share of the device that a product can use with the best tile size.
double productShare(const Work& work, const DeviceRates& rates)
{
    if (!rates.isCuda)
        return 1;
    double share = 0;
    for (const Tile& tile : kTiles) {
        const double rows = std::ceil(work.m / tile.rows);
        const double columns = std::ceil(work.n / tile.columns);
        const double edges = (work.m * work.n) / (rows * tile.rows * columns * tile.columns);
        share = std::max(share,
                         tile.share * edges * wavesShare(work.count * rows * columns, rates.multiprocessors));
    }
    return work.isTf32 && bytesOf(work.type) != 2 ? share * rates.figures.tf32Share : share;
}

double productSeconds(const Work& work, const DeviceRates& rates)
{
    const double rate = rates.flops(work.type, work.isTf32);
    if (rate <= 0)
        return 0;
    const double values = work.m * work.k + work.k * work.n + work.m * work.n;
    const double bytes = work.count * values * static_cast<double>(bytesOf(work.type));
    const double flops = 2 * work.count * work.m * work.n * work.k;
    // A token of generation: kernels that divide the inner dimension are bound by memory.
    constexpr double kFewRows = 16;
    if (rates.isCuda && work.m <= kFewRows)
        return std::max(flops / rate, bytes / rates.bytes);
    return std::max(flops / (rate * productShare(work, rates)), moveSeconds(bytes, work.type, rates));
}

/// The host and device clocks of a phase.
class Clocks {
public:
    explicit Clocks(const DeviceRates& rates) : rates_(rates), figures_(rates.figures) {}

    void play(const Work& work)
    {
        const double seconds = deviceSeconds(work, rates_);
        switch (work.kind) {
        case Work::Kind::Views:
            return onHost(work.count, figures_.plainOps);
        case Work::Kind::Prepare:
            return onHost(work.count, operation(work));
        case Work::Kind::Repeat:
            return repeat(work.count, seconds + work.count * betweenKernels());
        default:
            onHost(1, operation(work));
            onDevice(host_, seconds + betweenKernels());
        }
    }

    double host() const { return host_; }
    double busy() const { return busy_; }
    double end() const { return std::max(host_, device_); }

private:
    double betweenKernels() const { return rates_.isCuda ? figures_.kernelSeconds : 0; }
    double operation(const Work& work) const
    {
        return work.isBackward ? figures_.backwardOps : figures_.forwardOps;
    }

    void onHost(double operations, double each)
    {
        const double before = std::exp(-started_ / figures_.coldOps);
        started_ += operations;
        const double cold =
            figures_.coldShare * figures_.coldOps * (before - std::exp(-started_ / figures_.coldOps));
        host_ += each * rates_.launch * (operations + (rates_.isCuda ? cold : 0));
    }

    void onDevice(double from, double seconds)
    {
        busy_ += seconds;
        device_ = std::max(device_, from) + seconds;
    }

    // Either the device waits for each launch, or launched kernels queue up.
    void repeat(double times, double seconds)
    {
        const double begin = host_;
        onHost(times, figures_.plainOps);
        onDevice(begin + (host_ - begin) / times, seconds);
        device_ = std::max(device_, host_ + seconds / times);
    }

    const DeviceRates& rates_;
    const TimeFigures& figures_;
    double host_ = 0;    ///< time at which the host has launched all kernels so far
    double device_ = 0;  ///< time at which the device has finished them
    double busy_ = 0;    ///< time in which the device was busy
    double started_ = 0; ///< operations so far
};

} // namespace

double deviceSeconds(const Work& work, const DeviceRates& rates)
{
    switch (work.kind) {
    case Work::Kind::Product:
        return productSeconds(work, rates);
    case Work::Kind::Move: {
        const double each = rates.isCuda ? rates.figures.rowSeconds / rates.multiprocessors : 0;
        return moveSeconds(work.bytes, work.type, rates) + work.count * each;
    }
    case Work::Kind::Fused:
        return std::max(work.seconds, work.bytes / rates.bytes);
    case Work::Kind::Repeat:
        return work.bytes / rates.bytes;
    case Work::Kind::Views:
    case Work::Kind::Prepare:
        break;
    }
    return 0;
}

PhaseSeconds playedSeconds(std::span<const Work> works, const DeviceRates& rates, Replay how, bool isBackward)
{
    Clocks clocks(rates);
    for (const Work& work : works)
        clocks.play(work);
    PhaseSeconds phase{.device = clocks.busy(), .host = clocks.host()};
    const TimeFigures& figures = rates.figures;
    if (!rates.isCuda)
        phase.wall = phase.device + phase.host;
    else if (how == Replay::Graph)
        phase.wall = phase.device + figures.replayPhaseSeconds;
    else
        phase.wall = clocks.end() + (isBackward ? figures.backwardPhaseSeconds : figures.forwardPhaseSeconds);
    return phase;
}

} // namespace tilescope::predict
